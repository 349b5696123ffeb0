import { posix } from "node:path";
import { type Tree, withFolders } from "../root/tree.js";

const BLOCK = 512;
const TYPES = { file: "0", link: "2", folder: "5" } as const;

/**
 * Writes a tar archive in the ustar format of POSIX.1-1988. The same entries yield the same bytes: they are sorted,
 * belong to root, and have the time 0.
 *
 * @throws Error that names a path or a target that the format cannot hold
 */
export function writeTar(tree: Tree): Buffer {
  const parts: Buffer[] = [];
  for (const [path, entry] of withFolders(tree)) {
    const content = entry.type === "file" ? entry.content : undefined;
    const mode = entry.type === "link" ? 0o777 : entry.mode;
    const target = entry.type === "link" ? entry.target : "";
    const name = entry.type === "folder" ? `${path}/` : path;
    parts.push(header({ name, mode, size: content?.length ?? 0, type: TYPES[entry.type], target }));
    if (content) parts.push(Buffer.from(content), Buffer.alloc(-content.length & (BLOCK - 1)));
  }
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]);
}

interface Header {
  readonly name: string;
  readonly mode: number;
  readonly size: number;
  readonly type: string;
  readonly target: string;
}

function header({ name, mode, size, type, target }: Header): Buffer {
  const block = Buffer.alloc(BLOCK);
  const [prefix, rest] = splitName(name);
  const write = (text: string, at: number, length: number): void => {
    if (Buffer.byteLength(text) > length) throw new Error(`${name}: ${text} is too long for a tar archive`);
    block.write(text, at);
  };
  const octal = (value: number, at: number, length: number): void =>
    write(value.toString(8).padStart(length - 1, "0"), at, length - 1);
  write(rest, 0, 100);
  octal(mode, 100, 8);
  octal(0, 108, 8); // owner
  octal(0, 116, 8); // group
  octal(size, 124, 12);
  octal(0, 136, 12); // modification time
  block.fill(" ", 148, 156); // counts as spaces in the checksum
  write(type, 156, 1);
  write(target, 157, 100);
  write("ustar\x0000", 257, 8);
  octal(0, 329, 8);
  octal(0, 337, 8);
  write(prefix, 345, 155);
  const checksum = block.reduce((sum, byte) => sum + byte, 0);
  write(`${checksum.toString(8).padStart(6, "0")}\x00 `, 148, 8);
  return block;
}

/** Splits a name of more than 100 bytes between two folders. */
function splitName(name: string): readonly [string, string] {
  if (Buffer.byteLength(name) <= 100) return ["", name];
  for (let prefix = posix.dirname(name); prefix !== "."; prefix = posix.dirname(prefix)) {
    const rest = name.slice(prefix.length + 1);
    if (Buffer.byteLength(prefix) <= 155 && Buffer.byteLength(rest) <= 100) return [prefix, rest];
  }
  throw new Error(`${name}: is too long for a tar archive`);
}
