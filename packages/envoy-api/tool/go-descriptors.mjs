// Reads the file descriptors that protoc-gen-go embeds in the code that it generates.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";

/** The descriptors of all proto files of a Go module, by the directory with its content. */
export function readDescriptors(directory) {
  return readdirSync(directory, { recursive: true })
    .filter((name) => name.endsWith(".pb.go"))
    .sort()
    .map((name) => embeddedDescriptor(readFileSync(join(directory, name), "utf8")))
    .filter((bytes) => bytes !== undefined)
    .map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
}

/** The serialized descriptor in a Go file: a concatenation of string literals, or a list of bytes in older files. */
export function embeddedDescriptor(source) {
  const text = /^const file_\w+_rawDesc = ((?:""|"(?:[^"\\]|\\.)*"|\s|\+)+)$/m.exec(source);
  if (text !== null) {
    const literals = text[1].matchAll(/"((?:[^"\\]|\\.)*)"/g);
    return Buffer.concat([...literals].map(([, literal]) => unquoted(literal)));
  }
  const list = /^var file_\w+_rawDesc = \[\]byte\{([^}]*)\}/m.exec(source);
  return list === null ? undefined : Buffer.from(list[1].match(/0x[0-9a-f]{2}/g).map(Number));
}

const escapes = { a: 7, b: 8, f: 12, n: 10, r: 13, t: 9, v: 11 };

/** The bytes of a Go string literal, given what is between its quotes. */
function unquoted(literal) {
  const pieces = literal.match(/\\x[0-9a-f]{2}|\\u[0-9a-f]{4}|\\U[0-9a-f]{8}|\\[0-7]{3}|\\.|[^\\]+/g) ?? [];
  return Buffer.concat(pieces.map(bytesOf));
}

function bytesOf(piece) {
  if (!piece.startsWith("\\")) return Buffer.from(piece);
  if (piece[1] === "x") return Buffer.from([parseInt(piece.slice(2), 16)]);
  if (/^\\[uU]/.test(piece)) return Buffer.from(String.fromCodePoint(parseInt(piece.slice(2), 16)));
  if (/^\\[0-7]{3}/.test(piece)) return Buffer.from([parseInt(piece.slice(1), 8)]);
  return Buffer.from([escapes[piece[1]] ?? piece.charCodeAt(1)]);
}
