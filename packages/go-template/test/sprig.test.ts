import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parseTemplate } from "@istiod/go-template";
import { sprigFunctions } from "@istiod/go-template/sprig";

const functions = sprigFunctions({ now: () => Date.UTC(2024, 1, 29, 12), timeZone: "UTC" });
const render = (expression: string, data: unknown = null): string =>
  parseTemplate("t", `{{ ${expression} }}`, { functions }).execute(data);

describe("sprig", () => {
  it.each([
    ['quote "a\\"b" 1 nil', '"a\\"b" "1"'],
    ['squote "a"', "'a'"],
    ['indent 2 "a\\nb"', "  a\n  b"],
    ['nindent 2 "a"', "\n  a"],
    ['trunc 5 "hello world"', "hello"],
    ['trunc -5 "hello world"', "world"],
    ['title "hello wORLD"', "Hello WORLD"],
    ['snakecase "FirstHTTPName2"', "first_http_name2"],
    ['camelcase "http_server"', "HttpServer"],
    ['kebabcase "FirstName"', "first-name"],
    ['wrap 5 "Hello World again"', "Hello\nWorld\nagain"],
    ['abbrev 5 "hello world"', "he..."],
    ['plural "one" "many" 2', "many"],
    ['splitList "," "a,b"', "[a b]"],
    ['(split "$" "a$b")._1', "b"],
    ['join "-" (list 1 "a" nil 2.5)', "1-a-2.5"],
    ["append (list 1) 2 | reverse", "[2 1]"],
    ['uniq (list 1 1 "1")', "[1 1]"],
    ["chunk 2 (list 1 2 3)", "[[1 2] [3]]"],
    ["has 4 (list 1 4)", "true"],
    ["has 4 (list (add 2 2))", "false"],
    ["untilStep 3 6 2", "[3 5]"],
    ["seq 5 -2 1", "5 3 1"],
    ['default "d" ""', "d"],
    ['coalesce 0 "" "x"', "x"],
    ["ternary 1 2 false", "2"],
    ['dict "a" 1 "b"', "map[a:1 b:]"],
    ['merge (dict "a" 1 "m" (dict "x" 1)) (dict "a" 2 "m" (dict "y" 2))', "map[a:1 m:map[x:1 y:2]]"],
    ['mergeOverwrite (dict "a" 1) (dict "a" 2)', "map[a:2]"],
    ['dig "a" "b" "none" (dict "a" (dict "b" 3))', "3"],
    ['keys (dict "b" 1 "a" 2)', "[a b]"],
    ['omit (dict "a" 1 "b" 2) "a"', "map[b:2]"],
    ['add 1 2.9 "3"', "6"],
    ["addf 0.1 0.2", "0.3"],
    ["divf 1 3", "0.3333333333333333"],
    ["round 123.5555 3", "123.556"],
    ['int "010"', "8"],
    ["max 1 3 2", "3"],
    ["div 7 2", "3"],
    ["typeOf (add 1)", "int64"],
    ["kindOf (list)", "slice"],
    ['toJson (dict "a" (list 1 "<" nil))', '{"a":[1,"\\u003c",null]}'],
    ['toRawJson "<"', '"<"'],
    ['toPrettyJson (dict "a" (list 1) "b" (list))', '{\n  "a": [\n    1\n  ],\n  "b": []\n}'],
    ['(fromJson "{\\"a\\":[1,true]}").a', "[1 true]"],
    ['b64enc "é" | b64dec', "é"],
    ['b64dec "a"', "illegal base64 data at input byte 0"],
    ['b32enc "foo" | b32dec', "foo"],
    ['sha1sum "a"', "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8"],
    ['adler32sum "Wikipedia"', "300286872"],
    ['regexReplaceAll "a(x*)b" "-ab-axxb-" "${1}W"', "-W-xxW-"],
    ['regexFindAll "[2,4,6,8]" "123456789" -1', "[2 4 6 8]"],
    ['regexSplit "z+" "pizza" -1', "[pi a]"],
    ['semverCompare "^1.2.0" "1.3.0"', "true"],
    ['semverCompare ">=1.2" "1.3.0-beta"', "false"],
    ['(semver "v1.2.3-a+b").Prerelease', "a"],
    ['base "/a/b.txt"', "b.txt"],
    ['clean "/a/../../b//c"', "/b/c"],
    ['(urlParse "http://u:p@h:8080/p?q=1#f").host', "h:8080"],
    ['urlJoin (dict "scheme" "https" "host" "h" "path" "/a b")', "https://h/a%20b"],
    ['now | date "2006-01-02 15:04 Mon"', "2024-02-29 12:00 Thu"],
    ['now | dateModify "-36h" | htmlDate', "2024-02-28"],
    ['date "02 Jan 2006" (toDate "2006-01-02" "2020-05-06")', "06 May 2020"],
    ['dateInZone "15:04 MST" (toDate "2006-01-02" "2020-05-06") "America/New_York"', "20:00 EDT"],
    ['duration "3661"', "1h1m1s"],
    ['durationRound "2h10m"', "2h"],
  ])("%s", (expression, expected) => {
    expect(render(expression)).toBe(expected);
  });

  it.each([
    ["div 1 0", "error calling div: runtime error: integer divide by zero"],
    ['fail "because"', "error calling fail: because"],
    ["first 1", "error calling first: Cannot find first on type int"],
    ['mustRegexMatch "(" "a"', "error calling mustRegexMatch: error parsing regexp: missing closing ): `(`"],
    ['mustFromJson "{"', "error calling mustFromJson: unexpected end of JSON input"],
    ['mustFromJson "[1 2]"', "error calling mustFromJson: invalid character '2' after array element"],
    ['mustFromJson "n"', "error calling mustFromJson: invalid character ' ' in literal null (expecting 'u')"],
    ['mustFromJson "-"', "error calling mustFromJson: invalid character ' ' in numeric literal"],
    ['semver "x"', "error calling semver: invalid semantic version"],
    ['substr 5 3 "hello world"', "error calling substr: runtime error: slice bounds out of range [5:3]"],
    ['repeat -1 "a"', "error calling repeat: strings: negative Repeat count"],
    ['env "HOME"', "error calling env: env is not supported: templates cannot read the environment"],
    ["uuidv4", "error calling uuidv4: uuidv4 is not supported: its result is random"],
    ['genCA "a" 1', "genCA is not supported: templates cannot generate keys and certificates"],
  ])("%s fails", (expression, message) => {
    expect(() => render(expression)).toThrow(message);
  });

  it("has no current time without a clock", () => {
    const withoutClock = parseTemplate("t", "{{ now }}", { functions: sprigFunctions() });
    expect(() => withoutClock.execute(null)).toThrow("error calling now: the current time is not available");
  });

  it("names each function in the README", () => {
    const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
    const plain = (name: string): string => name.replace(/^must([A-Z])/, (_, letter: string) => letter.toLowerCase());
    const isNamed = (name: string): boolean => readme.includes(`\`${name}\``);
    expect(Object.keys(functions).filter((name) => !isNamed(name) && !isNamed(plain(name)))).toEqual([]);
    expect(Object.keys(functions)).toHaveLength(211);
  });
});
