import { FieldReader, joinEncoded } from "@istiod/protobuf-wire";

/** An encoded message, split into the elements of one list and everything else. */
export interface SplitMessage {
  /** Fields of other numbers with their tags. */
  readonly rest: readonly Uint8Array[];
  /** The encoded elements, without tags. */
  readonly elements: readonly Uint8Array[];
}

/** Splits an encoded message at the elements of a list of messages. Protobuf does not depend on the order of fields. */
export function splitAt(bytes: Uint8Array, field: number): SplitMessage {
  const reader = new FieldReader(bytes);
  const rest: Uint8Array[] = [];
  const elements: Uint8Array[] = [];
  let from = 0;
  while (reader.next()) {
    if (reader.field !== field) continue;
    if (reader.start > from) rest.push(bytes.subarray(from, reader.start));
    elements.push(bytes.subarray(reader.from, reader.to));
    from = reader.to;
  }
  if (bytes.length > from) rest.push(bytes.subarray(from));
  return { rest, elements };
}

/** Splits an encoded message that consists of parts of whole fields. */
export function splitParts(parts: readonly Uint8Array[], field: number): SplitMessage {
  const split = parts.map((part) => splitAt(part, field));
  return { rest: split.flatMap(({ rest }) => rest), elements: split.flatMap(({ elements }) => elements) };
}

/** Encoded messages that are parts of one, split into the occurrences of one field and everything else. */
export interface TakenFields {
  /** Fields of other numbers with their tags. */
  readonly rest: readonly Uint8Array[];
  /** Occurrences of the field with their tags. Those next to each other are together. */
  readonly fields: readonly Uint8Array[];
}

/** Splits an encoded message that consists of parts of whole fields. Nothing is copied. */
export function takeFields(parts: readonly Uint8Array[], field: number): TakenFields {
  const rest: Uint8Array[] = [];
  const fields: Uint8Array[] = [];
  for (const bytes of parts) {
    const reader = new FieldReader(bytes);
    let from = 0;
    let isTaking = false;
    while (reader.next()) {
      if ((reader.field === field) === isTaking) continue;
      if (reader.start > from) (isTaking ? fields : rest).push(bytes.subarray(from, reader.start));
      from = reader.start;
      isTaking = !isTaking;
    }
    if (bytes.length > from) (isTaking ? fields : rest).push(bytes.subarray(from));
  }
  return { rest, fields };
}

/** Returns a message field of an encoded message, merged from its occurrences; empty if it has none. */
export function messageIn(bytes: Uint8Array, field: number): Uint8Array {
  const { elements } = splitAt(bytes, field);
  return elements.length === 1 && elements[0] !== undefined ? elements[0] : joinEncoded(elements);
}

/** Returns a string field of an encoded message: its last occurrence, as protobuf merges; empty if it has none. */
export function stringIn(bytes: Uint8Array, field: number): string {
  return stringsIn(bytes, field).at(-1) ?? "";
}

/** Returns the elements of a list of strings in an encoded message. */
export function stringsIn(bytes: Uint8Array, field: number): string[] {
  const reader = new FieldReader(bytes);
  const found: string[] = [];
  while (reader.next())
    if (reader.field === field)
      found.push(Buffer.from(bytes.buffer, bytes.byteOffset + reader.from, reader.to - reader.from).toString("utf8"));
  return found;
}
