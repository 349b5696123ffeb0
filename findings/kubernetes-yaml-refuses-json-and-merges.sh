#!/usr/bin/env bash
# The YAML library of Kubernetes' Go programs (sigs.k8s.io/yaml) differs from what its users expect of YAML and of JSON:
# - a JSON text with the escape "\/", which serializers in PHP write by default, is an error, though YAML 1.2 has it so
#   that every JSON text is YAML;
# - strict reading, as for the fields of objects, reports a key that overrides one of a merge (`<<`) as a duplicate,
#   though overriding is what merges are for; reading that is not strict takes it;
# - the keys 1 and "1", and y and "true", become one; even strict reading drops one of their values without an error,
#   and chance decides which;
# - of several documents, the first one is read; the others are dropped without an error, also by strict reading.
# Seen beside the npm package yaml, whose version 1.1 has merges.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cat > "$folder/cases.json" <<'JSON'
["{\"path\": \"a\\/b\"}", "base: &base {a: 1, b: 2}\nuse: {<<: *base, a: 3}", "1: a\n\"1\": b", "y: a\n\"true\": b",
 "a: 1\na: 2", "a: 1\n---\nb: 2"]
JSON
cat > "$folder/main.go" <<'GO'
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"sigs.k8s.io/yaml"
)

func main() {
	content, _ := os.ReadFile("cases.json")
	var cases []string
	if err := json.Unmarshal(content, &cases); err != nil {
		panic(err)
	}
	show := func(result []byte, err error) string {
		if err != nil {
			return "error: " + err.Error()[strings.LastIndex(err.Error(), ": ")+2:]
		}
		return string(result)
	}
	for _, text := range cases {
		// Which of the values of keys that become one is kept is up to chance.
		one := strings.NewReplacer(`"1":"a"`, `"1":"a or b"`, `"1":"b"`, `"1":"a or b"`,
			`"true":"a"`, `"true":"a or b"`, `"true":"b"`, `"true":"a or b"`)
		fmt.Println(one.Replace(show(yaml.YAMLToJSON([]byte(text)))) + "\t" +
			one.Replace(show(yaml.YAMLToJSONStrict([]byte(text)))))
	}
}
GO
cat > "$folder/run.mjs" <<'JS'
import { readFileSync } from "node:fs";
import { parseAllDocuments } from "yaml";
for (const text of JSON.parse(readFileSync("cases.json", "utf8"))) {
  const documents = parseAllDocuments(text, { version: "1.1" });
  const errors = documents.flatMap((each) => each.errors);
  console.log(errors.length > 0 ? `error: ${errors[0].code}` : documents.map((each) => JSON.stringify(each.toJS())).join(" and "));
}
JS
cd "$folder"
npm install --silent --no-audit --no-fund --prefix "$folder" yaml@2.9.1
export GOFLAGS=-mod=mod GOWORK=off
go mod init finding 2> /dev/null
go get sigs.k8s.io/yaml@v1.6.0 2> /dev/null
go run . > go
node run.mjs > js
node -e 'for (const each of require("./cases.json")) console.log(JSON.stringify(each))' | paste - go js > found
while IFS=$'\t' read -r text loose strict js; do
  printf '%s\n  sigs.k8s.io/yaml 1.6.0:          %s\n  sigs.k8s.io/yaml 1.6.0, strict:  %s\n  yaml 2.9.1:                      %s\n' \
    "$text" "$loose" "$strict" "$js"
done < found
cat > expected <<'TEXT'
error: found unknown escape character	error: found unknown escape character	{"path":"a/b"}
{"base":{"a":1,"b":2},"use":{"a":3,"b":2}}	error: key "a" already set in map	{"base":{"a":1,"b":2},"use":{"a":3,"b":2}}
{"1":"a or b"}	{"1":"a or b"}	{"1":"b"}
{"true":"a or b"}	{"true":"a or b"}	{"true":"b"}
{"a":2}	error: key "a" already set in map	error: DUPLICATE_KEY
{"a":1}	{"a":1}	{"a":1} and {"b":2}
TEXT
paste go js | diff expected - > /dev/null
