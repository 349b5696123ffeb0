import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { toBinary } from "@bufbuild/protobuf";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { Closers } from "@istiod/runtime";
import { SimulatedProxy } from "../client/simulated-proxy.js";
import { type ChangeKind, change } from "../mesh/changes.js";
import { apply, writeObjects } from "../mesh/directory.js";
import { Mesh, type MeshOptions } from "../mesh/mesh.js";
import { nodeOf } from "../mesh/proxies.js";
import { startIstiod } from "../server/istiod-process.js";
import { cpuSeconds } from "../server/usage.js";

/** Proxies that reject every response. */
export type Rejecting = "none" | "one" | "all";

export interface RejectingFleetOptions {
  /** Script of the istiod to measure. Default: that of this workspace. */
  readonly command?: string;
  readonly mesh: MeshOptions;
  readonly rejecting: Rejecting;
  /** Lets the proxies accept what they are sent first, and reject from the first change on. */
  readonly fromFirstChange: boolean;
  readonly changes: readonly ChangeKind[];
  /** Milliseconds without a response after which a step ends. */
  readonly quietMs: number;
}

/** The cost of one step to istiod. */
export interface RejectingStep {
  readonly name: string;
  readonly cpuSeconds: number;
  readonly responses: number;
  readonly bytes: number;
}

const connectTimeoutMs = 120_000;
/** Longest step, in milliseconds: responses to proxies that reject are sent again for ever. */
const longestStepMs = 20_000;

/** Serves a mesh to a fleet of which none, one or all proxies reject what they are sent, and changes it. */
export async function runRejectingFleet(options: RejectingFleetOptions): Promise<readonly RejectingStep[]> {
  const closers = new Closers();
  try {
    const work = await mkdtemp(join(tmpdir(), "istiod-rejections-"));
    closers.defer(() => rm(work, { recursive: true, force: true }));
    const mesh = new Mesh(options.mesh);
    const directory = join(work, "mesh");
    await writeObjects(directory, mesh.objects());
    const istiod = await startIstiod({ directory, ...(options.command !== undefined && { command: options.command }) });
    closers.defer(() => istiod.stop());
    await untilIdle(istiod.pid);
    const seen = { responses: 0, bytes: 0, at: 0 };
    const answered = new Set<number>();
    let rejects = !options.fromFirstChange;
    const proxies = mesh.proxies().map((place, index) => {
      const isRejecting = options.rejecting === "all" || (options.rejecting === "one" && index === 0);
      const response = ({ bytes }: { readonly bytes: number }): string | undefined => {
        Object.assign(seen, { responses: seen.responses + 1, bytes: seen.bytes + bytes, at: performance.now() });
        answered.add(index);
        return isRejecting && rejects ? "rejected by the benchmark" : undefined;
      };
      const node = toBinary(NodeSchema, nodeOf(place));
      return new SimulatedProxy({ target: istiod.xds, variant: "delta", node, events: { response } });
    });
    closers.defer(() => proxies.forEach((proxy) => proxy.drop()));
    const step = async (name: string, begin: () => unknown): Promise<RejectingStep> => {
      Object.assign(seen, { responses: 0, bytes: 0, at: performance.now() });
      const before = cpuSeconds(istiod.pid);
      await begin();
      const timeout = performance.now() + connectTimeoutMs;
      while (answered.size < proxies.length && performance.now() < timeout) await wait(100);
      const until = performance.now() + longestStepMs;
      do await wait(100);
      while (performance.now() < until && performance.now() - seen.at < options.quietMs);
      await untilIdle(istiod.pid);
      return { name, cpuSeconds: cpuSeconds(istiod.pid) - before, responses: seen.responses, bytes: seen.bytes };
    };
    const steps = [await step("connect", () => proxies.forEach((proxy) => proxy.connect()))];
    rejects = true;
    for (const [index, kind] of options.changes.entries())
      steps.push(await step(kind, () => apply(directory, change(mesh, kind, index))));
    return steps;
  } finally {
    await closers.close();
  }
}

const idleIntervalMs = 300;
const longestIdleWaitMs = 30_000;

/** Waits until a process uses almost no CPU. */
async function untilIdle(pid: number): Promise<void> {
  for (const until = performance.now() + longestIdleWaitMs; performance.now() < until;) {
    const before = cpuSeconds(pid);
    await wait(idleIntervalMs);
    if ((cpuSeconds(pid) - before) * 1000 < idleIntervalMs / 10) return;
  }
}
