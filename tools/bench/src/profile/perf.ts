import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import { categories, type Category, categoryOf } from "./categories.js";

/** Node flags that give perf the names of compiled functions. */
export const perfFlags = ["--perf-basic-prof", "--interpreted-frames-native-stack"] as const;

const samplesPerSecond = 499;

/** A CPU profile of a process. */
export interface Profile {
  readonly samples: number;
  /** Part of all samples, by category. */
  readonly shares: Readonly<Record<Category, number>>;
  /** The part on the thread of JavaScript, by category. */
  readonly mainThread: Readonly<Record<Category, number>>;
  /** The innermost functions with most samples: their category, and their part of all. */
  readonly top: readonly { readonly category: Category; readonly frame: string; readonly share: number }[];
}

export interface Recording {
  stop(): Promise<Profile>;
}

/**
 * Samples all threads of a process with Linux' perf until it is stopped.
 *
 * @throws Error if perf is not there or not allowed
 */
export async function record(pid: number): Promise<Recording> {
  const own = await mkdtemp(join(tmpdir(), "perf-"));
  const file = join(own, "perf.data");
  const perf = spawn("perf", ["record", "-q", "-F", String(samplesPerSecond), "-g", "-o", file, "-p", String(pid)], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let errors = "";
  perf.stderr.on("data", (text: Buffer) => (errors += text.toString()));
  const failed = await Promise.race([ended(perf), wait(500, undefined)]);
  if (failed !== undefined) throw new Error(`perf cannot record process ${pid}: ${errors || failed}`);
  return {
    async stop() {
      perf.kill("SIGINT");
      await ended(perf);
      try {
        return await summarize(file, pid);
      } finally {
        await rm(own, { recursive: true, force: true });
      }
    },
  };
}

async function summarize(file: string, pid: number): Promise<Profile> {
  const script = spawn("perf", ["script", "-i", file, "-F", "tid,ip,sym,dso"], { stdio: ["ignore", "pipe", "ignore"] });
  const all = new Map<Category, number>();
  const main = new Map<Category, number>();
  const leaves = new Map<string, { readonly category: Category; samples: number }>();
  let samples = 0;
  let stack: string[] = [];
  let tid = 0;
  const take = (): void => {
    if (stack.length === 0) return;
    const category = categoryOf(stack);
    samples++;
    all.set(category, (all.get(category) ?? 0) + 1);
    if (tid === pid) main.set(category, (main.get(category) ?? 0) + 1);
    const leaf = leaves.get(stack[0] ?? "") ?? { category, samples: 0 };
    leaf.samples++;
    leaves.set(stack[0] ?? "", leaf);
    stack = [];
  };
  for await (const line of createInterface({ input: script.stdout })) {
    if (line.trim() === "") take();
    else if (/^\s*\d+\s*$/.test(line)) tid = Number(line);
    else stack.push(line.trim().replace(/^[0-9a-f]+ /, ""));
  }
  take();
  const shares = (counts: ReadonlyMap<Category, number>): Record<Category, number> =>
    Object.fromEntries(
      categories.map((category) => [category, (counts.get(category) ?? 0) / Math.max(1, samples)]),
    ) as Record<Category, number>;
  const top = [...leaves]
    .sort(([, a], [, b]) => b.samples - a.samples)
    .slice(0, 40)
    .map(([frame, { category, samples: count }]) => ({ category, frame, share: count / samples }));
  return { samples, shares: shares(all), mainThread: shares(main), top };
}

function ended(child: ChildProcess): Promise<string> {
  if (child.exitCode !== null || child.signalCode !== null)
    return Promise.resolve(`exit ${child.exitCode ?? child.signalCode}`);
  return new Promise((resolve) =>
    child
      .once("exit", (code, signal) => resolve(`exit ${code ?? signal}`))
      .once("error", (error) => resolve(error.message)),
  );
}
