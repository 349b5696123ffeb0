import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { registry } from "@istiod/envoy-api/registry";
import { afterAll, describe, expect, it } from "vitest";
import { embeddedDescriptor } from "../tool/go-descriptors.mjs";
import { downloadModules } from "../tool/modules.mjs";
import { selectFiles } from "../tool/select-files.mjs";

const directory = mkdtempSync(join(tmpdir(), "envoy-api-"));
afterAll(() => rmSync(directory, { recursive: true }));

describe("the generated messages", () => {
  it.each([
    ["envoy.config.route.v3.VirtualHost", "request_body_buffer_limit", 25],
    ["envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit", "rate_limits", 17],
    ["envoy.extensions.access_loggers.stats.v3.Config", "stats_scope", 6],
    ["envoy.extensions.filters.network.mysql_proxy.v3.MySQLProxy", "stat_prefix", 1],
    ["google.protobuf.StringValue", "value", 1],
  ])("%s has %s", (message, field, expected) => {
    expect(registry.getMessage(message)?.fields.find(({ name }) => name === field)?.number).toBe(expected);
  });

  it("have no validation rules, and none of superseded versions", () => {
    const names = [...registry].map(({ typeName }) => typeName);
    expect(names.filter((name) => /^validate\.|^udpa\.annotations\.|\.v2\./.test(name))).toEqual([]);
  });
});

describe("descriptors in Go code", () => {
  it("are read from string literals", () => {
    const source = String.raw`
const file_a_b_proto_rawDesc = "" +
	"\n" +
	"\va\"b\\\x92ǆ\xd8\x04\u00ad\a\U0001f600 }+"

var other = "x"
`;
    const expected = Buffer.concat([
      Buffer.from('\n\va"b\\'),
      Buffer.from([0x92]),
      Buffer.from("ǆ"),
      Buffer.from([0xd8, 4]),
      Buffer.from("\u00ad\x07\u{1f600} }+"),
    ]);
    expect(embeddedDescriptor(source)).toEqual(expected);
  });

  it("are read from lists of bytes", () => {
    expect(embeddedDescriptor("\nvar file_a_proto_rawDesc = []byte{\n\t0x0a, 0xff,\n\t0x01,\n}\n")).toEqual(
      Buffer.from([10, 255, 1]),
    );
  });

  it("are absent in other files", () => {
    expect(embeddedDescriptor("package a\n")).toBeUndefined();
  });
});

describe("the selection of files", () => {
  const file = (name: string, ...dependency: string[]) =>
    create(FileDescriptorProtoSchema, { name, dependency, options: { goPackage: "a" } });

  it("has Envoy's files and their imports in order, without annotations and superseded versions", () => {
    const selected = selectFiles([
      file("envoy/b/v3/b.proto", "validate/validate.proto", "cel/a.proto", "google/protobuf/any.proto"),
      file("envoy/b/v2/b.proto"),
      file("cel/a.proto"),
      file("cel/unused.proto"),
      file("validate/validate.proto"),
    ]);
    expect(selected.map(({ name }) => name)).toEqual(["cel/a.proto", "envoy/b/v3/b.proto"]);
    expect(selected[1]?.dependency).toEqual(["cel/a.proto", "google/protobuf/any.proto"]);
    expect(selected[1]?.options).toBeUndefined();
  });

  it("fails where an import is missing", () => {
    expect(() => selectFiles([file("envoy/b/v3/b.proto", "cel/a.proto")])).toThrow(
      "envoy/b/v3/b.proto imports cel/a.proto, which no module has",
    );
  });
});

describe("the download of modules", () => {
  const wanted = [["example.test/api", "v1.0.0", "h1:right="]];

  /** Downloads with a `go` that prints the given text. */
  const downloadWith = (script: string): string[] => {
    const bin = mkdtempSync(join(directory, "bin-"));
    writeFileSync(join(bin, "go"), `#!/bin/sh\n${script}\n`);
    chmodSync(join(bin, "go"), 0o755);
    return downloadModules(join(bin, "work"), wanted, {
      ...process.env,
      PATH: [bin, process.env["PATH"]].join(delimiter),
    });
  };
  const printed = (fields: object): string =>
    `cat <<'END'\n${JSON.stringify({ Path: "example.test/api", Version: "v1.0.0", ...fields }, undefined, "\t")}\nEND`;

  it("returns the directories", () => {
    expect(downloadWith(printed({ Dir: "/modules/api", Sum: "h1:right=" }))).toEqual(["/modules/api"]);
  });

  it("says that Go is missing", () => {
    expect(() => downloadModules(join(directory, "none"), wanted, { ...process.env, PATH: directory })).toThrow(
      /^Envoy's API is downloaded by Go, and there is no go on PATH$/,
    );
  });

  it("rejects another digest", () => {
    expect(() => downloadWith(printed({ Dir: "/modules/api", Sum: "h1:wrong=" }))).toThrow(
      "example.test/api@v1.0.0 has the digest h1:wrong=, not the expected h1:right=",
    );
  });

  it("says that the module proxy cannot be reached, or what Go says", () => {
    expect(() => downloadWith(`${printed({ Error: "Get a: dial tcp: lookup a: no such host" })}\nexit 1`)).toThrow(
      "Envoy's API (example.test/api@v1.0.0) cannot be downloaded: the Go module proxy cannot be reached",
    );
    expect(() => downloadWith("echo 'go: unknown flag' >&2; exit 2")).toThrow(
      "Envoy's API (example.test/api@v1.0.0) cannot be downloaded by Go: go: unknown flag",
    );
  });
});
