import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Library } from "./libraries.js";

/** Calls to make, one after another. */
export interface Calls {
  /** Default: 1, or 0 with targets. */
  readonly count?: number;
  /** Targets of which each is called once, all at the same time, before others. */
  readonly targets?: readonly string[];
  readonly metadata?: Readonly<Record<string, string>>;
  /** Milliseconds. Default: 10,000. */
  readonly deadline?: number;
}

/** The outcome of a call. */
export interface CallResult {
  /** A gRPC status. */
  readonly code: number;
  /** The name of the server, or the message of the status. */
  readonly answer: string;
  /** Milliseconds. */
  readonly duration: number;
}

/** A process of a library's program. */
export class Program {
  readonly lines: string[] = [];
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;
  #waiting: ((line: string) => void)[] = [];

  constructor({ command: [program, ...args] }: Library, more: readonly string[], bootstrap: string) {
    const env = { ...process.env, GRPC_XDS_BOOTSTRAP: bootstrap, GRPC_XDS_EXPERIMENTAL_RBAC: "true" };
    this.#child = spawn(program, [...args, ...more], { env, stdio: ["pipe", "pipe", "pipe"] });
    this.#exited = new Promise((resolve) => void this.#child.once("exit", () => resolve()));
    const note = (line: string): void => void this.lines.push(line);
    if (this.#child.stderr) createInterface(this.#child.stderr).on("line", note);
    if (this.#child.stdout)
      createInterface(this.#child.stdout).on("line", (line) => {
        note(line);
        this.#waiting.shift()?.(line);
      });
    this.#child.stdin?.on("error", () => undefined);
  }

  get hasExited(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Writes a line and resolves with the next line of the output. */
  ask(line: string): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#waiting.push(resolve);
      void this.#exited.then(() => reject(new Error(`the program ended: ${this.lines.slice(-5).join("; ")}`)));
      this.#child.stdin?.write(`${line}\n`);
    });
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#exited;
  }
}

/** A channel of a client. */
export class Channel {
  readonly #program: Program;

  constructor(program: Program) {
    this.#program = program;
  }

  get hasExited(): boolean {
    return this.#program.hasExited;
  }

  /** Returns the last lines of the program's output. */
  get lastLines(): readonly string[] {
    return this.#program.lines.slice(-20);
  }

  async call({ targets = [], metadata = {}, deadline = 10_000, ...calls }: Calls = {}): Promise<readonly CallResult[]> {
    const { count = targets.length === 0 ? 1 : 0 } = calls;
    return JSON.parse(await this.#program.ask(JSON.stringify({ count, targets, metadata, deadline }))) as CallResult[];
  }

  /** Returns the names of the servers that answered, and `code N` for calls that failed. */
  async answers(calls: Calls = {}): Promise<readonly string[]> {
    return (await this.call(calls)).map(({ code, answer }) => (code === 0 ? answer : `code ${code}`));
  }

  close(): Promise<void> {
    return this.#program.kill();
  }
}
