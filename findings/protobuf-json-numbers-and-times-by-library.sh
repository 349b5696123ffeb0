#!/usr/bin/env bash
# Protobuf's JSON decoders for Go, Python and JavaScript (protobuf-es) read the same texts differently:
# - protobuf-es reads durations without looking at their end ("1.5sx"), and a 30th of February as the 1st of March;
# - a 64-bit number above 2^53 that is not quoted, which the format allows, is rounded by protobuf-es without an error;
#   the largest one is an error. In quotes, "1e3" and "1.0" are 32-bit numbers for all, but not 64-bit ones in protobuf-es;
# - Python accepts "+1s" and "1.s", and cuts a tenth digit of a duration; Go accepts ".5s" and "1.s".
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cat > "$folder/cases.json" <<'JSON'
[["Duration", "\"1.5s\""], ["Duration", "\"1.5sx\""], ["Duration", "\"1.s\""], ["Duration", "\".5s\""],
 ["Duration", "\"+1s\""], ["Duration", "\"01s\""], ["Duration", "\"1.1234567891s\""],
 ["Timestamp", "\"2026-02-28T00:00:00Z\""], ["Timestamp", "\"2026-02-30T00:00:00Z\""],
 ["Int32Value", "\"1e3\""], ["Int64Value", "1e3"], ["Int64Value", "\"1e3\""], ["Int64Value", "\"1.0\""],
 ["Int64Value", "9007199254740993"], ["Int64Value", "\"9007199254740993\""], ["Int64Value", "9223372036854775807"]]
JSON
cat > "$folder/run.mjs" <<'JS'
import { readFileSync } from "node:fs";
import { fromJsonString } from "@bufbuild/protobuf";
import * as types from "@bufbuild/protobuf/wkt";
for (const [name, text] of JSON.parse(readFileSync("cases.json", "utf8")))
  try {
    const { value, seconds, nanos } = fromJsonString(types[`${name}Schema`], text);
    console.log(value === undefined ? `${seconds}+${nanos}` : String(value));
  } catch {
    console.log("error");
  }
JS
cat > "$folder/run.py" <<'PY'
import json
from google.protobuf import duration_pb2, json_format, timestamp_pb2, wrappers_pb2
types = {module.__name__: module for module in (duration_pb2, timestamp_pb2, wrappers_pb2)}
for name, text in json.load(open("cases.json")):
    try:
        kind = next(getattr(module, name) for module in types.values() if hasattr(module, name))
        message = json_format.Parse(text, kind())
        print(f"{message.seconds}+{message.nanos}" if hasattr(message, "seconds") else message.value)
    except json_format.ParseError:
        print("error")
PY
cat > "$folder/main.go" <<'GO'
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func main() {
	content, _ := os.ReadFile("cases.json")
	var cases [][2]string
	if err := json.Unmarshal(content, &cases); err != nil {
		panic(err)
	}
	for _, each := range cases {
		message := map[string]proto.Message{
			"Duration": &durationpb.Duration{}, "Timestamp": &timestamppb.Timestamp{},
			"Int32Value": &wrapperspb.Int32Value{}, "Int64Value": &wrapperspb.Int64Value{},
		}[each[0]]
		if protojson.Unmarshal([]byte(each[1]), message) != nil {
			fmt.Println("error")
			continue
		}
		switch value := message.(type) {
		case *durationpb.Duration:
			fmt.Printf("%d+%d\n", value.Seconds, value.Nanos)
		case *timestamppb.Timestamp:
			fmt.Printf("%d+%d\n", value.Seconds, value.Nanos)
		case *wrapperspb.Int32Value:
			fmt.Println(value.Value)
		case *wrapperspb.Int64Value:
			fmt.Println(value.Value)
		}
	}
}
GO
cd "$folder"
npm install --silent --no-audit --no-fund --prefix "$folder" @bufbuild/protobuf@2.17.0
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check "protobuf==7.36.2"
export GOFLAGS=-mod=mod GOWORK=off
go mod init finding 2> /dev/null
go get google.golang.org/protobuf@v1.36.11 2> /dev/null
node run.mjs > es
venv/bin/python run.py > python
go run . > go
cat > expected <<'TEXT'
Duration	"1.5s"	1+500000000	1+500000000	1+500000000
Duration	"1.5sx"	error	error	1+500000000
Duration	"1.s"	1+0	1+0	error
Duration	".5s"	0+500000000	error	error
Duration	"+1s"	1+0	1+0	error
Duration	"01s"	error	1+0	1+0
Duration	"1.1234567891s"	error	1+123456789	error
Timestamp	"2026-02-28T00:00:00Z"	1772236800+0	1772236800+0	1772236800+0
Timestamp	"2026-02-30T00:00:00Z"	error	error	1772409600+0
Int32Value	"1e3"	1000	1000	1000
Int64Value	1e3	1000	1000	1000
Int64Value	"1e3"	1000	1000	error
Int64Value	"1.0"	1	1	error
Int64Value	9007199254740993	9007199254740993	9007199254740993	9007199254740992
Int64Value	"9007199254740993"	9007199254740993	9007199254740993	9007199254740993
Int64Value	9223372036854775807	9223372036854775807	9223372036854775807	error
TEXT
node -e 'for (const each of require("./cases.json")) console.log(each.join("\t"))' | paste - go python es > found
printf 'message\ttext\tGo module 1.36.11\tPython 7.36.2\tprotobuf-es 2.17.0\n' | cat - found | column -t -s "$(printf '\t')"
diff expected found > /dev/null
