const prefixLength = 5;

/** Reassembles gRPC messages from the chunks of a stream, copying each byte once. */
export class MessageSplitter {
  readonly #message: (message: Buffer) => void;
  readonly #prefix = Buffer.alloc(prefixLength);
  #target = this.#prefix;
  #filled = 0;

  constructor(message: (message: Buffer) => void) {
    this.#message = message;
  }

  push(chunk: Uint8Array): void {
    for (let from = 0; from < chunk.length || this.#filled === this.#target.length;) {
      const part = chunk.subarray(from, from + this.#target.length - this.#filled);
      this.#target.set(part, this.#filled);
      from += part.length;
      this.#filled += part.length;
      if (this.#filled === this.#target.length) this.#next();
    }
  }

  #next(): void {
    const complete = this.#target;
    this.#filled = 0;
    if (complete === this.#prefix) this.#target = Buffer.allocUnsafeSlow(complete.readUInt32BE(1));
    else {
      this.#target = this.#prefix;
      this.#message(complete);
    }
  }
}
