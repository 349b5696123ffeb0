// Echo-advanced stands for the suite's image of that name: a server that answers with what it was asked, and a client
// that prints the answers. It is the client if it is started by that name.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	run := serve
	if filepath.Base(os.Args[0]) == "client" {
		run = request
	}
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "echo-advanced:", err)
		os.Exit(1)
	}
}
