import { readFile } from "node:fs/promises";
import { AgentError } from "../errors.js";

/**
 * Reads labels or annotations as Kubernetes' downward API writes them: lines `key="value"`, the value quoted as in Go.
 *
 * @returns `undefined` where the file is absent
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

/** The same from text. @throws AgentError `file` naming the line */
export function parseDownwardApi(text: string, what: string): Record<string, string> {
  const entries: Record<string, string> = {};
  for (const [index, line] of text.split("\n").entries()) {
    const at = line.indexOf("=");
    if (at < 0) continue;
    const value = unquote(line.slice(at + 1));
    if (value === undefined)
      throw new AgentError("file", `${what}:${index + 1}: the value of ${line.slice(0, at)} is not a quoted string`);
    entries[line.slice(0, at)] = value;
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

/**
 * A double-quoted Go string (Go specification, interpreted string literals). Bytes given as \xHH and \ooo are UTF-8.
 */
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
