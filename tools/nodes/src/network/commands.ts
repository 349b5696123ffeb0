import { type ChildProcess, spawn } from "node:child_process";

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Runs a command until it ends.
 *
 * @returns its output
 * @throws Error with the command and its error output, if its status is not 0
 */
export function runCommand(command: readonly string[], { input = "", env = process.env as Env } = {}): Promise<string> {
  const [file = "", ...args] = command;
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { env: env as NodeJS.ProcessEnv, stdio: ["pipe", "pipe", "pipe"] });
    let output = "";
    let errors = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
    child.stdin.on("error", () => undefined);
    child.stdin.end(input);
    child.once("error", reject);
    child.once("close", (status, signal) => {
      if (status === 0) resolve(output);
      else
        reject(
          new Error(
            `${command.join(" ")}: ${errors.trim() || output.trim() || `ended by ${signal ?? `status ${status}`}`}`,
          ),
        );
    });
  });
}

/** The start of commands that are killed when this process ends, however that ends. */
export const guarded = ["setpriv", "--pdeathsig", "KILL", "--"] as const;

/** A process that holds network and host name namespaces. They end with it. */
export interface Namespaces {
  readonly pid: number;
  /** The start of commands that run in the network. */
  readonly enter: readonly string[];
  close(): Promise<void>;
}

/** Creates a network namespace and a host name. */
export async function createNamespaces(hostname: string): Promise<Namespaces> {
  const script = 'echo "$0" > /proc/sys/kernel/hostname; ip link set lo up; echo ready; exec sleep infinity';
  const [file, ...args] = [...guarded, "unshare", "-n", "-u", "sh", "-c", script, hostname.slice(0, 63)];
  const child = spawn(file, args, { stdio: ["ignore", "pipe", "pipe"] });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  await firstOutput(child);
  const pid = child.pid ?? 0;
  const close = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended;
  };
  return { pid, enter: ["nsenter", "-t", String(pid), "-n", "--"], close };
}

function firstOutput(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let errors = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => (errors += text));
    child.stdout?.once("data", () => resolve());
    child.once("error", reject);
    child.once("close", () => reject(new Error(`no network namespace: ${errors.trim()}`)));
  });
}
