import { relative } from "node:path";

const STATUS_INTERVAL = 10_000;

/** Lines for a person. On a terminal the status stays in the last line; elsewhere it is repeated now and then. */
export class Screen {
  readonly #output: NodeJS.WriteStream;
  #status = "";
  #shownAt = 0;

  constructor(output: NodeJS.WriteStream = process.stdout) {
    this.#output = output;
  }

  say(text = ""): void {
    if (!this.#output.isTTY) return void this.#output.write(`${text}\n`);
    this.#output.write(`\r\x1b[K${text}\n`);
    this.#drawStatus();
  }

  /** Replaces the status. @param soon shows it now, also where it is only repeated now and then */
  status(text: string, soon = false): void {
    this.#status = text;
    if (this.#output.isTTY) return this.#drawStatus();
    if (!soon && Date.now() - this.#shownAt < STATUS_INTERVAL) return;
    this.#shownAt = Date.now();
    this.#output.write(`${text}\n`);
  }

  #drawStatus(): void {
    if (this.#status !== "") this.#output.write(`\r\x1b[K${this.#status.slice(0, (this.#output.columns || 80) - 1)}`);
  }
}

/** Aligns what a line is about. */
export function labeled(label: string, text: string): string {
  return `${label.padEnd(11)} ${text}`;
}

/** A path as one would type it: relative below the working directory, else absolute. */
export function shownPath(path: string): string {
  const below = relative(process.cwd(), path);
  return below.startsWith("..") ? path : below || ".";
}
