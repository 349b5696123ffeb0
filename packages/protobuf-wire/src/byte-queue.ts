/** Received chunks, to be consumed in pieces of other lengths. Copies bytes only if a piece spans several chunks. */
export class ByteQueue {
  #chunks: Buffer[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
  }

  /** Returns the first bytes without removing them; undefined if there are fewer. */
  peek(count: number): Buffer | undefined {
    if (count > this.#length) return undefined;
    if (count === 0) return empty;
    const [first] = this.#chunks;
    if (first !== undefined && first.length >= count) return first.subarray(0, count);
    const joined = Buffer.concat(this.#chunks);
    this.#chunks = [joined];
    return joined.subarray(0, count);
  }

  /** Removes and returns the first bytes; undefined if there are fewer. */
  take(count: number): Buffer | undefined {
    const bytes = this.peek(count);
    if (bytes !== undefined) this.#skip(count);
    return bytes;
  }

  /** Moves up to `count` bytes to a target. Returns the number of bytes moved. */
  moveTo(target: Uint8Array, offset: number, count: number): number {
    let moved = 0;
    while (moved < count && this.#chunks[0] !== undefined) {
      const part = this.#chunks[0].subarray(0, count - moved);
      target.set(part, offset + moved);
      moved += part.length;
      this.#skip(part.length);
    }
    return moved;
  }

  /** Removes bytes of the first chunk. */
  #skip(count: number): void {
    const [first] = this.#chunks;
    if (first === undefined) return;
    this.#length -= count;
    if (first.length === count) this.#chunks.shift();
    else this.#chunks[0] = first.subarray(count);
  }
}

const empty = Buffer.alloc(0);
