import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";

/** The number of characters of a program's output that are kept. */
const keptLength = 4000;

/** A running program that receives telemetry. */
export class Receiver {
  readonly #name: string;
  readonly #child: ChildProcess;
  readonly #closed: Promise<void>;
  #output = "";
  /** The reason for which it has ended; undefined while it runs. */
  #end: string | undefined;

  constructor(command: string, args: readonly string[]) {
    this.#name = command.slice(command.lastIndexOf("/") + 1);
    this.#child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.on("data", (chunk: Buffer) => (this.#output = (this.#output + chunk.toString()).slice(-keptLength)));
    this.#closed = new Promise((resolve) => {
      const end = (reason: string) => (): void => {
        this.#end ??= reason;
        resolve();
      };
      this.#child.once("error", (error) => end(error.message)());
      this.#child.once("close", (code, signal) => end(`exited with ${signal ?? code}`)());
    });
  }

  /**
   * Waits until the program answers.
   *
   * @throws Error with the program's last output, once it has ended or after `withinMs`
   */
  async until(what: string, isTrue: () => Promise<boolean>, withinMs: number): Promise<void> {
    for (const until = Date.now() + withinMs; ; await Promise.race([sleep(100), this.#closed])) {
      if (this.#end !== undefined) throw this.#error(`${this.#end} before ${what}`);
      if (await isTrue().catch(() => false)) return;
      if (Date.now() > until) throw this.#error(`not within ${withinMs / 1000} s: ${what}`);
    }
  }

  /** Ends it, as a crash would. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#closed;
  }

  #error(reason: string): Error {
    return new Error(`${this.#name}: ${reason}${this.#output === "" ? "" : `\n${this.#output.trim()}`}`);
  }
}
