import { ApiError } from "../api-error.js";
import { type DecodedObject, identify, type ListDecoder, type ListMetadata } from "./decoder.js";
import { compileFields, type FieldMatcher } from "./field-matcher.js";
import { incomplete, JsonReader } from "./json-reader.js";
import { PendingBytes } from "./pending-bytes.js";
import { contentFields, type FieldTree } from "./projection.js";

const comma = 0x2c;
const closeArray = 0x5d;
const closeObject = 0x7d;

const listMetadata = compileFields({ resourceVersion: true, continue: true });

type State = "start" | "field" | "after-field" | "first-item" | "item" | "after-item" | "end";

/** Decodes the JSON of a list. */
export class JsonListDecoder implements ListDecoder {
  readonly #reader = new JsonReader();
  readonly #pending = new PendingBytes();
  readonly #fields: FieldMatcher | undefined;
  #state: State = "start";
  #hasItems = false;
  #count = 0;
  #metadata: ListMetadata = { resourceVersion: "", continue: "" };

  constructor(fields: FieldTree) {
    this.#fields = compileFields(contentFields(fields));
  }

  push(chunk: Uint8Array): DecodedObject[] {
    const bytes = this.#pending.push(chunk);
    return bytes === undefined ? [] : this.#read(bytes);
  }

  end(): { readonly objects: readonly DecodedObject[]; readonly metadata: ListMetadata } {
    const objects = this.#read(this.#pending.all());
    if (this.#state !== "end") throw new ApiError("malformed", "the list ended early");
    if (!this.#hasItems) throw new ApiError("malformed", "the answer is not a list: it has no items");
    return { objects, metadata: this.#metadata };
  }

  #read(bytes: Buffer): DecodedObject[] {
    const objects: DecodedObject[] = [];
    let consumed = 0;
    this.#reader.reset(bytes);
    try {
      for (;;) {
        if (this.#state === "end" && this.#reader.isAtEnd) {
          consumed = bytes.length;
          break;
        }
        this.#step(objects);
        consumed = this.#reader.position;
      }
    } catch (error) {
      if (error !== incomplete) throw error;
    }
    this.#pending.keepFrom(consumed);
    return objects;
  }

  /** Reads one part of the list. Throws `incomplete` without a change of the state. */
  #step(objects: DecodedObject[]): void {
    const reader = this.#reader;
    switch (this.#state) {
      case "start":
        reader.expect(0x7b);
        this.#state = "field";
        return;
      case "field":
        this.#field();
        return;
      case "after-field":
        this.#state = this.#nextOr(closeObject, "field", "end");
        return;
      case "first-item":
        if (reader.accept(closeArray)) this.#state = "after-field";
        else this.#item(objects);
        return;
      case "item":
        this.#item(objects);
        return;
      case "after-item":
        this.#state = this.#nextOr(closeArray, "item", "after-field");
        return;
      case "end":
        reader.fail("data after the list");
    }
  }

  #nextOr(closing: number, next: State, closed: State): State {
    if (this.#reader.accept(comma)) return next;
    this.#reader.expect(closing);
    return closed;
  }

  #field(): void {
    const reader = this.#reader;
    if (reader.peek() !== 0x22) reader.fail("expected a field name");
    const name = reader.string();
    reader.expect(0x3a);
    if (name === "items" && reader.peek() === 0x5b) {
      reader.expect(0x5b);
      this.#hasItems = true;
      this.#state = "first-item";
      return;
    }
    if (name === "items") this.#hasItems = reader.value(undefined) === null;
    else if (name === "metadata") this.#readMetadata(reader.value(listMetadata));
    else reader.skip();
    this.#state = "after-field";
  }

  #readMetadata(metadata: unknown): void {
    const { resourceVersion, continue: token } = (metadata ?? {}) as Record<string, unknown>;
    this.#metadata = {
      resourceVersion: typeof resourceVersion === "string" ? resourceVersion : "",
      continue: typeof token === "string" ? token : "",
    };
  }

  #item(objects: DecodedObject[]): void {
    const reader = this.#reader;
    if (reader.peek() !== 0x7b) reader.fail(`items[${this.#count}] is not an object`);
    objects.push(identify(withoutType(reader.value(this.#fields) as Record<string, unknown>)));
    this.#count++;
    this.#state = "after-item";
  }
}

/** Removes `apiVersion` and `kind` of an object that was decoded as a whole: items of lists may lack them. */
export function withoutType(object: Record<string, unknown>): Record<string, unknown> {
  delete object["apiVersion"];
  delete object["kind"];
  return object;
}
