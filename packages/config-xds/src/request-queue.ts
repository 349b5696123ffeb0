/** Requests of a stream, which can be added while the stream reads them. */
export class RequestQueue<R> implements AsyncIterable<R> {
  readonly #queued: R[] = [];
  #wake: () => void = () => undefined;
  #isClosed = false;

  push(request: R): void {
    this.#queued.push(request);
    this.#wake();
  }

  /** Ends the iteration after the requests that are queued. */
  close(): void {
    this.#isClosed = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<R> {
    for (;;) {
      const request = this.#queued.shift();
      if (request !== undefined) yield request;
      else if (this.#isClosed) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
