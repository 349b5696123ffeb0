/** A part of the demo that must be stopped. */
interface Part {
  stop(): Promise<void> | void;
}

const PARENT_INTERVAL = 1000;

/** The running parts of the demo, which stop together. */
export class Lifecycle {
  readonly #parts: Part[] = [];
  #ending: Promise<void> | undefined;

  /** Ends on SIGINT, SIGTERM and SIGHUP, and when npm, which started this, is gone. */
  constructor(env: Readonly<Record<string, string | undefined>> = process.env) {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => void this.end(0));
    if (env["npm_lifecycle_event"] === undefined) return;
    const parent = process.ppid;
    setInterval(() => void (process.ppid !== parent && this.end(0)), PARENT_INTERVAL).unref();
  }

  get isEnding(): boolean {
    return this.#ending !== undefined;
  }

  /** Adds a part, which is stopped at once where the end has begun. */
  async add(part: Part): Promise<void> {
    if (this.isEnding) await part.stop();
    else this.#parts.push(part);
  }

  /** Stops all parts at once, and exits. */
  end(code: number): Promise<void> {
    this.#ending ??= (async () => {
      if (process.stdout.isTTY) process.stdout.write("\r\x1b[Kending …\n");
      // Parts that are still starting add themselves while the others end.
      await Promise.allSettled(this.#parts.splice(0).map(async (part) => part.stop()));
      process.exit(code);
    })();
    return this.#ending;
  }

  /** Reports an error, and stops the demo. */
  fail(message: string): Promise<void> {
    if (!this.isEnding) process.stderr.write(`${process.stderr.isTTY ? "\r\x1b[K" : ""}${message}\n`);
    return this.end(1);
  }
}
