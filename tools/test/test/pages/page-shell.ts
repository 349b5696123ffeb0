import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { claimPlaces, type Places } from "./places.js";

const defaultLongestCommandMs = 60_000;
const longestStartMs = 30_000;
const longestEndMs = 10_000;

export interface CommandResult {
  readonly status: number;
  /** Standard output and standard error. */
  readonly output: string;
}

export interface PageShellOptions {
  /** The start of the shell's command, such as one that gives it a network of its own. Default: none. */
  readonly prefix?: readonly string[];
  /** Milliseconds after which a command that hangs is an error. Default 60,000. */
  readonly longestCommandMs?: number;
}

/**
 * A shell in a scratch copy of the repository, in which the commands of one page are typed one after the other. `npx`
 * and the repository's commands run what is built; everything that is started ends with the shell.
 */
export class PageShell {
  #count = 0;

  private constructor(
    private readonly shell: ChildProcess,
    private readonly directory: string,
    private readonly places: Places,
    private readonly longestCommandMs: number,
  ) {}

  static async start(root: string, options: PageShellOptions = {}): Promise<PageShell> {
    const { prefix = [], longestCommandMs = defaultLongestCommandMs } = options;
    const directory = await mkdtemp(join(tmpdir(), "page-"));
    const work = join(directory, "work");
    const bin = join(directory, "bin");
    await Promise.all([mkdir(work), mkdir(bin), mkdir(join(directory, "home"))]);
    await cp(join(root, "samples"), join(work, "samples"), { recursive: true });
    for (const name of ["node_modules", "package.json", "docs", "packages", "apps", "tools", "build"])
      if (existsSync(join(root, name))) await symlink(join(root, name), join(work, name));
    const places = await claimPlaces();
    await writeCommands(bin, root, places);
    const env = { PATH: `${bin}:${process.env["PATH"] ?? ""}`, HOME: join(directory, "home"), LANG: "C.UTF-8" };
    // A process group of its own, so that whatever a page starts can be ended.
    const [program = "", ...args] = [...prefix, "bash", "--noprofile", "--norc"];
    const shell = spawn(program, args, {
      cwd: work,
      env,
      stdio: ["pipe", "pipe", "pipe"],
      detached: true,
    });
    // If the test is killed, the end of its input ends the shell and the processes that it started.
    shell.stdin?.write("trap 'kill 0' EXIT\n");
    return new PageShell(shell, directory, places, longestCommandMs);
  }

  /** Folder that the shell starts in. */
  get work(): string {
    return join(this.directory, "work");
  }

  /** Runs a command and waits for its end, or, for one in the background, only starts it. */
  async run(text: string, background = false): Promise<CommandResult> {
    const file = join(this.directory, `command-${++this.#count}`);
    await writeFile(file, `${this.places.moved(text)}${background ? " &" : ""}\n`);
    const status = await this.#typed(`. ${file} >${file}.out 2>&1 </dev/null; printf '%s\\n' $?\n`);
    return { status, output: await this.#output(file) };
  }

  /** Returns what the last command has printed by now. */
  async lastOutput(): Promise<string> {
    return this.#output(join(this.directory, `command-${this.#count}`));
  }

  /** Waits until a URL answers 200, or `file:PATH` exists, and returns whether it did within the time. */
  async answers(url: string): Promise<boolean> {
    const isReady = url.startsWith("file:")
      ? (): boolean => existsSync(join(this.work, url.slice("file:".length)))
      : (): Promise<boolean> =>
          fetch(this.places.moved(url)).then(
            ({ ok }) => ok,
            () => false,
          );
    const deadline = performance.now() + longestStartMs;
    while (performance.now() < deadline) {
      if (await isReady()) return true;
      await sleep(50);
    }
    return false;
  }

  async end(): Promise<void> {
    const { pid } = this.shell;
    this.shell.stdin?.end();
    if (pid !== undefined && signal(pid, "SIGTERM")) {
      const deadline = performance.now() + longestEndMs;
      while (signal(pid, 0) && performance.now() < deadline) await sleep(50);
      signal(pid, "SIGKILL");
    }
    await rm(this.directory, { recursive: true, force: true, maxRetries: 5 });
  }

  async #output(file: string): Promise<string> {
    return this.places.restored(await readFile(`${file}.out`, "utf8"));
  }

  async #typed(line: string): Promise<number> {
    const { stdin, stdout } = this.shell;
    if (!stdin || !stdout) throw new Error("the shell has no input");
    return new Promise<number>((resolve, reject) => {
      const settle = (): void => {
        clearTimeout(timer);
        stdout.off("data", read);
        this.shell.off("exit", exited);
      };
      const read = (data: Buffer): void => (settle(), resolve(Number(data.toString())));
      const exited = (): void => (settle(), reject(new Error("the shell has ended")));
      const timer = setTimeout(
        () => (settle(), reject(new Error(`no end after ${this.longestCommandMs / 1000} s`))),
        this.longestCommandMs,
      );
      stdout.on("data", read);
      this.shell.once("exit", exited);
      stdin.write(line);
    });
  }
}

/** Sends a signal to a process group, and returns whether there was one. */
function signal(group: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, name);
  } catch {
    return false;
  }
}

/**
 * Writes `npx` without its look into the registry, and the repository's commands with ports that are free where a page
 * leaves them out.
 */
async function writeCommands(bin: string, root: string, { discoveryFlags, istiodUrl }: Places): Promise<void> {
  const installed = (name: string): string => join(root, "node_modules", ".bin", name);
  const adding = (flags: readonly string[]): string =>
    flags
      .map(
        (flag) =>
          `case " $* " in *" ${flag.split("=")[0]} "*|*" ${flag.split("=")[0]}="*) ;; *) set -- "$@" "${flag}" ;; esac`,
      )
      .join("\n");
  const commands = {
    npx: 'exec "$@"',
    istiod: `case "$1" in\ndiscovery)\n${adding(discoveryFlags)}\n;;\nstatus)\n${adding([`--istiod=${istiodUrl}`])}\n;;\nesac\nexec ${installed("istiod")} "$@"`,
    ...Object.fromEntries(
      ["pilot-agent", "istiod-cluster", "istiod-envoy", "istiod-iptables"].map((name) => [
        name,
        `exec ${installed(name)} "$@"`,
      ]),
    ),
  };
  for (const [name, script] of Object.entries(commands)) {
    await writeFile(join(bin, name), `#!/bin/sh\n${script}\n`);
    await chmod(join(bin, name), 0o755);
  }
}
