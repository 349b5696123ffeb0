import {
  encodeMessageField,
  encodeStringField,
  encodeVarintField,
  FieldReader,
  WireError,
} from "@istiod/protobuf-wire";
import type { Target } from "../target.js";

const message = encodeMessageField(1, [encodeStringField(2, "name"), encodeVarintField(3, 300)]);

/** Field readers of nested messages, as deep as a field can be one. */
export const wireFields: Target = {
  name: "wire-fields",
  description: "the protobuf wire reader",
  seeds: [message, encodeMessageField(4, [message, encodeStringField(5, "x".repeat(200))])],
  run(input) {
    try {
      read(Buffer.from(input), 0, input.length, 0);
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
    }
  },
};

const maxDepth = 8;

function read(bytes: Buffer, from: number, to: number, depth: number): void {
  const reader = new FieldReader(bytes, from, to);
  let fields = 0;
  while (reader.next()) {
    if (++fields > bytes.length) throw new Error("more fields than bytes");
    if (!reader.delimited) continue;
    if (reader.from < from || reader.to > to) throw new Error(`field from ${reader.from} to ${reader.to} is outside`);
    if (depth < maxDepth) readNested(bytes, reader.from, reader.to, depth + 1);
  }
}

/** Reads a field that need not be a message. */
function readNested(bytes: Buffer, from: number, to: number, depth: number): void {
  try {
    read(bytes, from, to, depth);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
  }
}
