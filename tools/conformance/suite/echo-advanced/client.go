package main

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// request sends requests to the URL among the arguments, and prints for each what was answered.
func request(args []string) error {
	flags := pflag.NewFlagSet("client", pflag.ContinueOnError)
	method := flags.String("method", http.MethodGet, "method of the requests")
	count := flags.Int("count", 1, "number of requests")
	headers := flags.StringArrayP("header", "H", nil, "header as name:value, may be repeated")
	timeout := flags.Duration("timeout", 5*time.Second, "time for each request")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return fmt.Errorf("%d URLs: must be one", flags.NArg())
	}
	if address, found := strings.CutPrefix(flags.Arg(0), "grpc://"); found {
		return requestGRPC(address, *headers, *count, *timeout)
	}
	client := &http.Client{
		Timeout:       *timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DisableKeepAlives:  true,
			DisableCompression: true,
			TLSClientConfig:    &tls.Config{InsecureSkipVerify: true},
		},
	}
	for index := range *count {
		lines, err := send(client, *method, flags.Arg(0), *headers)
		if err != nil {
			return err
		}
		printAnswer(index, lines)
	}
	return nil
}

// printAnswer prints the lines of an answer, which an empty line ends.
func printAnswer(index int, lines string) {
	for line := range strings.Lines(lines) {
		fmt.Printf("[%d] %s", index, line)
	}
	fmt.Println()
}

// send returns a response as lines, in the form of the server's answers.
func send(client *http.Client, method, url string, headers []string) (string, error) {
	request, err := http.NewRequest(method, url, nil)
	if err != nil {
		return "", err
	}
	for _, header := range headers {
		name, value, found := strings.Cut(header, ":")
		if !found {
			return "", fmt.Errorf("header %q: must be name:value", header)
		}
		if value = strings.TrimSpace(value); strings.EqualFold(name, "Host") {
			request.Host = value
		} else {
			request.Header.Add(name, value)
		}
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	var lines bytes.Buffer
	fmt.Fprintf(&lines, "Url=%s\nStatusCode=%d\n", url, response.StatusCode)
	writeHeaders(&lines, "ResponseHeader", response.Header)
	writeBody(&lines, string(body))
	return lines.String(), nil
}

func writeBody(w io.Writer, body string) {
	for line := range strings.Lines(body) {
		fmt.Fprintln(w, "body", strings.TrimSuffix(line, "\n"))
	}
}
