import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const folder = fileURLToPath(new URL("../../../proto", import.meta.url));
const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".proto"))
  .sort();

/** The declaration on a line: a message, an enum, a service, a method, a oneof, a field or a value. */
const declaration =
  /^\s*(?:(?:message|enum|service|rpc|oneof) \w+|(?!option|syntax|reserved|import)[\w.<>, ]* ?\w+ = \d+)/;

describe.each(files)("%s", (file) => {
  const lines = readFileSync(join(folder, file), "utf8").split("\n");

  it("begins with a comment about its purpose", () => {
    expect(lines[0]).toMatch(/^\/\/ \S/);
  });

  it("has a comment on every declaration", () => {
    const bare = lines.flatMap((line, i) =>
      declaration.test(line) && !/^\s*\/\/ /.test(lines[i - 1] ?? "") ? [`${i + 1}: ${line.trim()}`] : [],
    );
    expect(bare).toEqual([]);
  });
});
