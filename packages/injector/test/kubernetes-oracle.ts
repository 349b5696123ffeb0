import { type ChildProcessWithoutNullStreams, execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { access, mkdir, readFile, rename } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

/** A question to Kubernetes' libraries. */
export type OracleRequest =
  | { readonly original: unknown; readonly patch: unknown }
  | { readonly pod: unknown }
  | { readonly quantity: string }
  | { readonly types: true };

export interface OracleAnswer {
  readonly result: unknown;
  readonly error: string;
}

const source = join(import.meta.dirname, "oracle");
/** Those of `tools/cluster`, so that Go compiles common libraries once. Inlining and debug information take time. */
const goBuild = {
  CGO_ENABLED: "0",
  GOFLAGS: "-trimpath '-gcflags=all=-l -dwarf=false'",
  GOGC: "off",
  GOMEMLIMIT: "2GiB",
};

/**
 * Compiles the Go program of the tests, unless it is in the user's cache.
 *
 * @returns its path, or the reason why there is none
 */
export async function compileOracle(): Promise<{ readonly path: string } | { readonly reason: string }> {
  const hash = createHash("sha256");
  for (const file of ["main.go", "go.mod", "go.sum"]) hash.update(await readFile(join(source, file)));
  const folder = join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "istiod", "injector");
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
export class Oracle {
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #waiting: ((line: string) => void)[] = [];

  constructor(path: string) {
    this.#process = spawn(path);
    createInterface({ input: this.#process.stdout }).on("line", (line) => this.#waiting.shift()?.(line));
  }

  async ask(request: OracleRequest): Promise<OracleAnswer> {
    const answer = new Promise<string>((resolve) => this.#waiting.push(resolve));
    this.#process.stdin.write(`${JSON.stringify(request)}\n`);
    return JSON.parse(await answer) as OracleAnswer;
  }

  close(): void {
    this.#process.stdin.end();
  }
}
