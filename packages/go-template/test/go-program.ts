import { type ChildProcessWithoutNullStreams, execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { access, mkdir, readFile, rename } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { MissingKey } from "@istiod/go-template";
import type { Typed } from "./typed-data.js";

/** A template for Go. */
export interface GoRequest {
  readonly template: string;
  readonly data?: Typed;
  readonly missingKey?: MissingKey;
  readonly delimiters?: readonly [string, string];
  /** True if the template has only the functions of the language. */
  readonly plain?: boolean;
}

/** Go's output and message; an empty message if there was no error. */
export interface GoAnswer {
  readonly output: string;
  readonly error: string;
}

const source = join(dirname(fileURLToPath(import.meta.url)), "oracle");
const files = ["main.go", "go.mod", "go.sum"];
/** Those of `tools/manifests`, so that Go compiles common libraries once. Inlining and debug information take time. */
const goBuild = { CGO_ENABLED: "0", GOFLAGS: "-trimpath '-gcflags=all=-l -dwarf=false'" };

/**
 * Compiles the Go program of the tests, unless it is in the user's cache.
 *
 * @returns its path, or the reason why there is none
 */
export async function compileGoProgram(): Promise<{ readonly path: string } | { readonly reason: string }> {
  const hash = createHash("sha256");
  for (const file of files) hash.update(await readFile(join(source, file)));
  const folder = join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "istiod", "go-template");
  const path = join(folder, hash.digest("hex").slice(0, 16));
  try {
    await access(path);
    return { path };
  } catch {
    // Compiled below.
  }
  try {
    await mkdir(folder, { recursive: true });
    const temporary = `${path}.${process.pid}`;
    await promisify(execFile)("go", ["build", "-o", temporary, "."], {
      cwd: source,
      env: { ...process.env, ...goBuild },
    });
    await rename(temporary, path);
    return { path };
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    return { reason: `Go or a module is missing: ${message.split("\n").slice(0, 3).join(" ")}` };
  }
}

/** A running Go program. */
export class GoProgram {
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #waiting: ((line: string) => void)[] = [];

  constructor(path: string) {
    this.#process = spawn(path, { env: { ...process.env, TZ: "UTC" } });
    createInterface({ input: this.#process.stdout }).on("line", (line) => this.#waiting.shift()?.(line));
  }

  /** Returns Go's answers, in order. */
  async run(requests: readonly GoRequest[]): Promise<readonly GoAnswer[]> {
    const answers = requests.map(() => new Promise<string>((resolve) => this.#waiting.push(resolve)));
    this.#process.stdin.write(requests.map((request) => `${JSON.stringify(request)}\n`).join(""));
    return (await Promise.all(answers)).map((line) => JSON.parse(line) as GoAnswer);
  }

  close(): void {
    this.#process.stdin.end();
  }
}
