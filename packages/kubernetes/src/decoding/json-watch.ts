import { ApiError } from "../api-error.js";
import type { FailureStatus } from "../client/status-error.js";
import { identify, initialEventsEnd, type WatchDecoder, type WatchMessage } from "./decoder.js";
import { compileFields, type FieldMatcher } from "./field-matcher.js";
import { withoutType } from "./json-list.js";
import { incomplete, JsonReader } from "./json-reader.js";
import { PendingBytes } from "./pending-bytes.js";
import { type FieldTree, identityFields, mergeFields } from "./projection.js";

const bookmarkFields = compileFields({
  metadata: { resourceVersion: true, annotations: { [initialEventsEnd]: true } },
});
const newline = 0x0a;

/** Decodes the JSON of a watch: a sequence of objects `{"type": …, "object": …}`. */
export class JsonWatchDecoder implements WatchDecoder {
  readonly #reader = new JsonReader();
  readonly #pending = new PendingBytes();
  readonly #fields: FieldMatcher | undefined;

  constructor(fields: FieldTree) {
    this.#fields = compileFields(mergeFields(fields, identityFields));
  }

  push(chunk: Uint8Array): WatchMessage[] {
    const bytes = this.#pending.push(chunk, chunk[chunk.length - 1] === newline);
    return bytes === undefined ? [] : this.#read(bytes);
  }

  end(): WatchMessage[] {
    const messages = this.#read(this.#pending.all());
    if (this.#pending.length > 0) throw new ApiError("malformed", "the watch ended within a message");
    return messages;
  }

  #read(bytes: Buffer): WatchMessage[] {
    const messages: WatchMessage[] = [];
    const reader = this.#reader;
    reader.reset(bytes);
    let consumed = 0;
    try {
      while (!reader.isAtEnd) {
        messages.push(this.#message(bytes));
        consumed = reader.position;
      }
      consumed = bytes.length;
    } catch (error) {
      if (error !== incomplete) throw error;
    }
    this.#pending.keepFrom(consumed);
    return messages;
  }

  #message(bytes: Buffer): WatchMessage {
    const reader = this.#reader;
    let type: string | undefined;
    let object: unknown;
    let objectAt: number | undefined;
    reader.expect(0x7b);
    do {
      if (reader.peek() !== 0x22) reader.fail("expected a field name");
      const name = reader.string();
      reader.expect(0x3a);
      if (name === "type") type = String(reader.value(undefined));
      else if (name === "object" && type !== undefined) object = this.#object(type);
      else {
        if (name === "object") objectAt = reader.position;
        reader.skip();
      }
    } while (reader.accept(0x2c));
    reader.expect(0x7d);
    if (type === undefined) return reader.fail("a watch message without type");
    if (objectAt !== undefined) object = this.#revisit(bytes, objectAt, type);
    return messageOf(type, object);
  }

  #object(type: string): unknown {
    return this.#reader.value(type === "ERROR" ? undefined : type === "BOOKMARK" ? bookmarkFields : this.#fields);
  }

  /** Reads an object that came before the type of its message. */
  #revisit(bytes: Buffer, at: number, type: string): unknown {
    const end = this.#reader.position;
    this.#reader.reset(bytes, at);
    const object = this.#object(type);
    this.#reader.position = end;
    return object;
  }
}

function messageOf(type: string, object: unknown): WatchMessage {
  if (typeof object !== "object" || object === null) throw new ApiError("malformed", "a watch message without object");
  const fields = object as Record<string, unknown>;
  switch (type) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
      return { type, object: identify(withoutType(fields)) };
    case "BOOKMARK":
      return bookmarkOf(fields);
    case "ERROR":
      return { type, status: fields as FailureStatus };
    default:
      throw new ApiError("malformed", `a watch message of unknown type ${JSON.stringify(type.slice(0, 40))}`);
  }
}

/** Returns the message of a bookmark. */
export function bookmarkOf(object: Record<string, unknown>): WatchMessage {
  const metadata = (object["metadata"] ?? {}) as Record<string, unknown>;
  const { resourceVersion } = metadata;
  if (typeof resourceVersion !== "string") throw new ApiError("malformed", "a bookmark without resourceVersion");
  const annotations = (metadata["annotations"] ?? {}) as Record<string, unknown>;
  return { type: "BOOKMARK", resourceVersion, endsInitialEvents: annotations[initialEventsEnd] === "true" };
}
