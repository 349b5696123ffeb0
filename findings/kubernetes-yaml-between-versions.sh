#!/usr/bin/env bash
# The YAML library of Kubernetes' Go programs (sigs.k8s.io/yaml) reads plain values by neither YAML 1.1 nor YAML 1.2: it
# takes the octal numbers of both (017 and 0o17), and of 1.1 the booleans (also y, which PyYAML leaves a string) and
# digits with underscores, but not base 60 (1:20); 1e3 is a number as in 1.2, and 08 is 8 as in 1.2 although 07
# is octal. A literal block that ends with the file without a line break has none either, for it and for PyYAML; by the
# npm packages yaml and js-yaml it has one. So the same manifest has other values when it is read by kubectl, a script in
# Python and one in JavaScript.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cat > "$folder/cases.json" <<'JSON'
["017", "0o17", "08", "y", "on", "1_000", "1:20", "1e3", "0b11", "|\n  text"]
JSON
cat > "$folder/main.go" <<'GO'
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"sigs.k8s.io/yaml"
)

func main() {
	content, _ := os.ReadFile("cases.json")
	var cases []string
	if err := json.Unmarshal(content, &cases); err != nil {
		panic(err)
	}
	for _, text := range cases {
		result, err := yaml.YAMLToJSON([]byte("a: " + text))
		if err != nil {
			panic(err)
		}
		fmt.Println(string(result))
	}
}
GO
cat > "$folder/run.mjs" <<'JS'
import { readFileSync } from "node:fs";
import { load } from "js-yaml";
import { parse } from "yaml";
const reader = { yaml: parse, "js-yaml": load }[process.argv[2]];
for (const text of JSON.parse(readFileSync("cases.json", "utf8"))) console.log(JSON.stringify(reader(`a: ${text}`)));
JS
cat > "$folder/run.py" <<'PY'
import json, yaml
for text in json.load(open("cases.json")):
    print(json.dumps(yaml.safe_load(f"a: {text}"), default=str, separators=(",", ":")))
PY
cd "$folder"
npm install --silent --no-audit --no-fund --prefix "$folder" yaml@2.9.1 js-yaml@5.5.0
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check "PyYAML==6.0.4"
export GOFLAGS=-mod=mod GOWORK=off
go mod init finding 2> /dev/null
go get sigs.k8s.io/yaml@v1.6.0 2> /dev/null
go run . > go
venv/bin/python run.py > python
node run.mjs yaml > yaml
node run.mjs js-yaml > js-yaml
node -e 'for (const each of require("./cases.json")) console.log(`a: ${JSON.stringify(each).slice(1, -1)}`)' > texts
paste texts go python yaml js-yaml > found
printf 'text\tsigs.k8s.io/yaml 1.6.0\tPyYAML 6.0.4\tyaml 2.9.1\tjs-yaml 5.5.0\n' | cat - found | column -t -s "$(printf '\t')"
cat > expected <<'TEXT'
a: 017	{"a":15}	{"a":15}	{"a":17}	{"a":17}
a: 0o17	{"a":15}	{"a":"0o17"}	{"a":15}	{"a":15}
a: 08	{"a":8}	{"a":"08"}	{"a":8}	{"a":8}
a: y	{"a":true}	{"a":"y"}	{"a":"y"}	{"a":"y"}
a: on	{"a":true}	{"a":true}	{"a":"on"}	{"a":"on"}
a: 1_000	{"a":1000}	{"a":1000}	{"a":"1_000"}	{"a":"1_000"}
a: 1:20	{"a":"1:20"}	{"a":80}	{"a":"1:20"}	{"a":"1:20"}
a: 1e3	{"a":1000}	{"a":"1e3"}	{"a":1000}	{"a":1000}
a: 0b11	{"a":3}	{"a":3}	{"a":"0b11"}	{"a":"0b11"}
a: |\n  text	{"a":"text"}	{"a":"text"}	{"a":"text\n"}	{"a":"text\n"}
TEXT
diff expected found > /dev/null
