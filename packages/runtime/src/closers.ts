import { reasonOf } from "./reason.js";

/** A stack of close functions, for whatever a program opens while it starts. */
export class Closers {
  readonly #stack: (() => unknown)[] = [];
  #closing: Promise<void> | undefined;

  /** Adds a function, which may be asynchronous, to run on `close` before all that were added earlier. */
  defer(close: () => unknown): void {
    this.#stack.push(close);
  }

  /**
   * Runs the deferred functions once each, one after another, the latest first. A function that fails does not keep
   * the others from running. Calls during a close wait for it.
   *
   * @throws the error of the function that failed; AggregateError where several did
   */
  close(): Promise<void> {
    this.#closing ??= this.#drain().finally(() => (this.#closing = undefined));
    return this.#closing;
  }

  /**
   * Runs a function that opens resources and defers their closing. If it fails, closes what it has opened.
   *
   * @throws the function's error; AggregateError of it and the error of closing where that fails too
   */
  async closeOnError<T>(open: () => Promise<T>): Promise<T> {
    try {
      return await open();
    } catch (error) {
      await this.close().catch((closeError: unknown) => {
        throw new AggregateError([error, closeError], reasonOf(error));
      });
      throw error;
    }
  }

  async #drain(): Promise<void> {
    const errors: unknown[] = [];
    for (let close = this.#stack.pop(); close !== undefined; close = this.#stack.pop()) {
      try {
        await close();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length === 1) throw errors[0];
    if (errors.length > 1) throw new AggregateError(errors, "several resources failed to close");
  }
}
