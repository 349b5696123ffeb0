#!/usr/bin/env bash
# Conversions of Sprig, the functions of Helm's templates and of Istio's injection templates, take the base of a number
# from its text, and turn what they do not understand into 0 without an error: `int "08"` is 0 and `int "010"` is 8, while
# `atoi` reads both as decimal. Arithmetic converts in the same way, so that `add "08" 1` is 1. `int "1.9"` is 0, too, but
# `int 1.9` is 1. Integers that come from JSON print with an exponent from seven digits on, except by way of `int`.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
cat > main.go <<'GO'
package main

import (
	"fmt"
	"os"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
)

func main() {
	failed := false
	for _, each := range [][2]string{
		{`int "8"`, "8"}, {`int "08"`, "0"}, {`int "010"`, "8"}, {`int "0x10"`, "16"}, {`int "1_000"`, "1000"},
		{`int "1e3"`, "0"}, {`float64 "1e3"`, "1000"}, {`int "1.9"`, "0"}, {`int 1.9`, "1"}, {`int "80%"`, "0"},
		{`atoi "08"`, "8"}, {`atoi "010"`, "10"}, {`add "08" 1`, "1"}, {`add "010" 1`, "9"}, {`max "09" 5`, "5"},
		{`fromJson "15000000"`, "1.5e+07"}, {`fromJson "15000000" | int`, "15000000"},
		{`fromJson "150000"`, "150000"},
	} {
		var output strings.Builder
		text := "{{ " + each[0] + " }}"
		if err := template.Must(template.New("").Funcs(sprig.TxtFuncMap()).Parse(text)).Execute(&output, nil); err != nil {
			panic(err)
		}
		fmt.Printf("%-36s%s\n", text, output.String())
		failed = failed || output.String() != each[1]
	}
	if failed {
		os.Exit(1)
	}
}
GO
export GOFLAGS=-mod=mod GOWORK=off
go mod init finding 2> /dev/null
go get github.com/Masterminds/sprig/v3@v3.3.0 2> /dev/null
go mod tidy 2> /dev/null
go list -m github.com/Masterminds/sprig/v3 github.com/spf13/cast
go run .
