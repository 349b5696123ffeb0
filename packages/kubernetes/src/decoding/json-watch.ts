import { ApiError } from "../api-error.js";
import type { FailureStatus } from "../client/status-error.js";
import { identify, initialEventsEnd, type WatchDecoder, type WatchMessage } from "./decoder.js";
import { compileFields, type FieldMatcher } from "./field-matcher.js";
import { withoutType } from "./json-list.js";
import { incomplete, JsonReader } from "./json-reader.js";
import { PendingLine } from "./pending-bytes.js";
import { contentFields, type FieldTree } from "./projection.js";

const bookmarkFields = compileFields({
  metadata: { resourceVersion: true, annotations: { [initialEventsEnd]: true } },
});

/** Decodes the JSON of a watch: lines `{"type": …, "object": …}`. A line is read once, when it is complete. */
export class JsonWatchDecoder implements WatchDecoder {
  readonly #reader = new JsonReader();
  readonly #pending = new PendingLine();
  readonly #fields: FieldMatcher | undefined;

  constructor(fields: FieldTree) {
    this.#fields = compileFields(contentFields(fields));
  }

  push(chunk: Uint8Array): WatchMessage[] {
    const lines = this.#pending.push(chunk);
    return lines === undefined ? [] : this.#read(lines);
  }

  end(): WatchMessage[] {
    return this.#read(this.#pending.takeAll());
  }

  #read(lines: Buffer): WatchMessage[] {
    const messages: WatchMessage[] = [];
    const reader = this.#reader;
    reader.reset(lines);
    try {
      while (!reader.isAtEnd) messages.push(this.#message(lines));
    } catch (error) {
      if (error === incomplete) throw new ApiError("malformed", "the watch ended within a message");
      throw error;
    }
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
