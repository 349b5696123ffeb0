import { spawn } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { sampleUnavailable } from "../src/sample-unavailable.js";
import { unavailable } from "./rig.js";

const program = fileURLToPath(new URL("../../cluster/bin/istiod-cluster.js", import.meta.url));

interface RunOptions {
  readonly env?: NodeJS.ProcessEnv;
  /** Output after which Ctrl-C is pressed: the terminal signals the process group, and npm the command again. */
  readonly interruptAfter?: string;
}

/** Runs the command behind `npm run cluster` in a process group of its own until it has ended. */
async function run(args: readonly string[], { env = process.env, interruptAfter }: RunOptions = {}) {
  const child = spawn(process.execPath, [program, "run", ...args], {
    env,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const { pid = 0 } = child;
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  let interruptedAt = 0;
  let started: readonly number[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      if (interruptedAt > 0 || interruptAfter === undefined || !output.includes(interruptAfter)) return;
      interruptedAt = Date.now();
      void childrenOf(pid).then((children) => {
        started = children;
        process.kill(-pid, "SIGINT");
        process.kill(pid, "SIGINT");
      });
    });
  const status = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { status, output, started, milliseconds: Date.now() - interruptedAt };
}

async function childrenOf(pid: number): Promise<readonly number[]> {
  return (await readFile(`/proc/${pid}/task/${pid}/children`, "utf8")).trim().split(" ").map(Number);
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function kubeconfigs(): Promise<readonly string[]> {
  return (await readdir(tmpdir())).filter((name) => /^istiod-cluster-\d+\.kubeconfig$/.test(name));
}

for (const [name, args, interruptAfter] of [
  ["the nodes", ["--nodes"], "2 nodes run pods"],
  ["the installation of the sample", ["--sample", "bookinfo"], "waiting for istiod"],
] as const)
  it(`ends ${name} at Ctrl-C, with everything that it started`, { timeout: 180_000 }, async ({ skip }) => {
    const reason = unavailable ?? (args[0] === "--sample" ? await sampleUnavailable() : undefined);
    skip(reason !== undefined, reason);
    const { status, started, milliseconds } = await run(args, { interruptAfter });
    expect(status).toBe(0);
    expect(started).toHaveLength(2);
    expect(started.filter(isRunning)).toEqual([]);
    // Before, the first took 38 s, or until the second Ctrl-C, and the other up to five minutes.
    expect(milliseconds).toBeLessThan(20_000);
  });

it("says in a sentence that there is no Envoy for the sample, before anything is built or started", async ({
  skip,
}) => {
  skip(unavailable !== undefined, unavailable);
  expect(await sampleUnavailable({ PATH: "" }, "/nonexistent")).toBe(
    "no Envoy, which the proxies of the sample need: set ENVOY_PATH, or run `npm run envoy:install`",
  );
  const before = await kubeconfigs();
  const env = { ...process.env, ENVOY_PATH: "/nonexistent/envoy" };
  const { status, output } = await run(["--sample", "bookinfo"], { env });
  expect([status, output]).toEqual([1, "istiod-nodes: ENVOY_PATH is /nonexistent/envoy, which cannot be executed\n"]);
  expect(await kubeconfigs()).toEqual(before);
});

it("ends with a failure if the nodes do not start", async ({ skip }) => {
  skip(unavailable !== undefined, unavailable);
  const { status, output } = await run(["--nodes", "--images", "/nonexistent/images.yaml"]);
  expect(status).toBe(1);
  expect(output).toContain("/nonexistent/images.yaml");
});
