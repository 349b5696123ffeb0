import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { LocalReplica } from "./replicas.js";

/** The end of `istiod status`. */
export interface StatusAnswer {
  /** undefined if a signal ended it, as after five minutes. */
  readonly exit: number | undefined;
  readonly output: string;
}

const program = fileURLToPath(new URL("../../../../apps/istiod/bin/istiod.js", import.meta.url));

/** Milliseconds after which the command is killed. Its own timeout is a minute. */
const limitMs = 300_000;

/** Runs `istiod status` in the network of a replica, as `kubectl exec` would. */
export async function askStatus(replica: LocalReplica, args: readonly string[]): Promise<StatusAnswer> {
  const command = ["-t", String(replica.pid), "-n", process.execPath, program, "status", ...args];
  const child = spawn("nsenter", command, {
    stdio: ["ignore", "pipe", "pipe"],
    timeout: limitMs,
    killSignal: "SIGKILL",
  });
  const ended = new Promise<number | undefined>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (status) => resolve(status ?? undefined));
  });
  const [exit, output, errors] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  return { exit, output: output + errors };
}
