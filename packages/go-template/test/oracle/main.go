// Program main executes templates of standard input, one JSON object per line, and answers each with a line.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
)

type request struct {
	Template   string   `json:"template"`
	Data       any      `json:"data"`
	MissingKey string   `json:"missingKey"`
	Delimiters []string `json:"delimiters"`
	Plain      bool     `json:"plain"`
}

type response struct {
	Output string `json:"output"`
	Error  string `json:"error"`
}

// Pod is the struct of the tests.
type Pod struct {
	Name   string
	Labels map[string]string
	Port   int
	Extra  any
}

// Join is a method with arguments.
func (p *Pod) Join(separator string, words ...string) string {
	return p.Name + separator + strings.Join(words, separator)
}

// Fail is a method that returns an error.
func (p *Pod) Fail() (string, error) {
	return "", errors.New("pod failed")
}

var functions = template.FuncMap{
	"fails":   func(message string) (string, error) { return "", errors.New(message) },
	"strdict": strdict,
	"lookup":  func(m map[string]string, key string) string { return m[key] },
	"podName": func(p *Pod) string { return p.Name },
	"int32":   func(n int) int32 { return int32(n) },
	"uint8":   func(n int) uint8 { return uint8(n) },
	"takes64": func(n int64) int64 { return n },
	"takesF":  func(n float64) float64 { return n },
	"anyOf":   func(v any) any { return v },
}

func strdict(v ...string) map[string]string {
	dict := map[string]string{}
	for i := 0; i+1 < len(v); i += 2 {
		dict[v[i]] = v[i+1]
	}
	return dict
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 1<<20), 1<<28)
	out := bufio.NewWriter(os.Stdout)
	for in.Scan() {
		answer, err := json.Marshal(run(in.Bytes()))
		if err != nil {
			panic(err)
		}
		out.Write(answer)
		out.WriteByte('\n')
		out.Flush()
	}
}

func run(line []byte) (result response) {
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		return response{Error: "request: " + err.Error()}
	}
	defer func() {
		if fault := recover(); fault != nil {
			result.Error = fmt.Sprintf("panic: %v", fault)
		}
	}()
	t := template.New("t")
	if !r.Plain {
		t.Funcs(sprig.TxtFuncMap()).Funcs(functions)
	}
	if r.MissingKey != "" {
		t.Option("missingkey=" + r.MissingKey)
	}
	if len(r.Delimiters) == 2 {
		t.Delims(r.Delimiters[0], r.Delimiters[1])
	}
	if _, err := t.Parse(r.Template); err != nil {
		return response{Error: err.Error()}
	}
	var b strings.Builder
	if err := t.Execute(&b, decode(r.Data)); err != nil {
		return response{Output: b.String(), Error: err.Error()}
	}
	return response{Output: b.String()}
}

// decode returns a value of the tests: JSON, and objects with one key that names a type.
func decode(v any) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = decode(item)
		}
		return list
	case map[string]any:
		for kind, content := range v {
			return typed(kind, content)
		}
	}
	return v
}

func typed(kind string, v any) any {
	switch kind {
	case "int":
		n, _ := strconv.Atoi(v.(string))
		return n
	case "int64":
		n, _ := strconv.ParseInt(v.(string), 10, 64)
		return n
	case "uint8":
		n, _ := strconv.ParseUint(v.(string), 10, 8)
		return uint8(n)
	case "map":
		m := map[string]any{}
		for _, entry := range v.([]any) {
			pair := entry.([]any)
			m[pair[0].(string)] = decode(pair[1])
		}
		return m
	case "strings":
		list := []string{}
		for _, item := range v.([]any) {
			list = append(list, item.(string))
		}
		return list
	case "labels":
		return labels(v)
	case "nil map":
		return map[string]string(nil)
	case "pod", "pod pointer":
		fields := v.(map[string]any)
		pod := Pod{fields["name"].(string), labels(fields["labels"]), int(fields["port"].(float64)), decode(fields["extra"])}
		if kind == "pod" {
			return pod
		}
		return &pod
	case "nil pod":
		return (*Pod)(nil)
	}
	panic("unknown kind " + kind)
}

func labels(v any) map[string]string {
	m := map[string]string{}
	for key, value := range v.(map[string]any) {
		m[key] = value.(string)
	}
	return m
}
