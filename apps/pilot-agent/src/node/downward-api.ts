import { readFile } from "node:fs/promises";
import { AgentError } from "../errors.js";

/**
 * Reads labels or annotations in the format of the downward API: lines `key="value"`, the value a Go string literal.
 *
 * @returns `undefined` if the file is absent
 * @throws AgentError `file`
 */
export async function readDownwardApi(path: string): Promise<Record<string, string> | undefined> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw AgentError.from(error, "file", `${path} cannot be read`);
  }
  return parseDownwardApi(text, path);
}

/** Parses the format of the downward API. @throws AgentError `file` that names the line */
export function parseDownwardApi(text: string, path: string): Record<string, string> {
  const entries: Record<string, string> = {};
  for (const [index, line] of text.split("\n").entries()) {
    const equals = line.indexOf("=");
    if (equals < 0) continue;
    const value = unquote(line.slice(equals + 1));
    if (value === undefined)
      throw new AgentError(
        "file",
        `${path}:${index + 1}: the value of ${line.slice(0, equals)} must be a quoted string`,
      );
    entries[line.slice(0, equals)] = value;
  }
  return entries;
}

const ESCAPES: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
  '"': '"',
  "'": "'",
};

/** Parses an interpreted string literal (Go specification). The escapes \xHH and \ooo are bytes of UTF-8. */
function unquote(text: string): string | undefined {
  const inner = /^"((?:[^"\\\n]|\\.)*)"$/u.exec(text)?.[1];
  if (inner === undefined) return undefined;
  const bytes: Buffer[] = [];
  const pattern = /\\(?:x([0-9a-fA-F]{2})|([0-7]{3})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))|([^\\]+)/gsu;
  for (const [, hex, octal, u4, u8, letter, plain] of inner.matchAll(pattern)) {
    const byte =
      hex !== undefined ? Number.parseInt(hex, 16) : octal !== undefined ? Number.parseInt(octal, 8) : undefined;
    const point = u4 ?? u8;
    if (byte !== undefined) bytes.push(Buffer.from([byte & 0xff]));
    else if (point !== undefined) {
      if (Number.parseInt(point, 16) > 0x10ffff) return undefined;
      bytes.push(Buffer.from(String.fromCodePoint(Number.parseInt(point, 16))));
    } else if (letter !== undefined) {
      const escaped = ESCAPES[letter];
      if (escaped === undefined) return undefined;
      bytes.push(Buffer.from(escaped));
    } else bytes.push(Buffer.from(plain ?? ""));
  }
  return Buffer.concat(bytes).toString("utf8");
}
