import { afterAll, beforeAll, expect, it } from "vitest";
import { startInMemoryCluster } from "../src/cluster/in-memory-cluster.js";
import type { MeshObject } from "../src/cluster/cluster-objects.js";
import type { TestCluster } from "../src/cluster/test-cluster.js";
import type { Fault, FaultContext } from "../src/faults/fault.js";
import { faults } from "../src/faults/faults.js";
import { OutageRun } from "../src/outage-run.js";

/** Seconds of a fault: enough for a first failure of every watch. The command's default is a minute. */
const seconds = 2;
const timeoutMs = 600_000;
/** Faults for `npm run faults` only, which runs all: each takes half a minute, and is like one that is tested here. */
const leftOut = ["compacted", "clock-skewed", "one-kind-fails", "permissions-revoked", "watches-silent", "remote-gone"];
const short = faults.filter(({ name, minSeconds }) => minSeconds === undefined && !leftOut.includes(name));

let cluster: TestCluster;
let remote: TestCluster;
let run: OutageRun;

beforeAll(async () => {
  cluster = await startInMemoryCluster();
  remote = await startInMemoryCluster();
  run = await OutageRun.start(cluster, remote, { seconds, recoverySeconds: 180, seed: 1 });
}, timeoutMs);

afterAll(async () => {
  await run?.close();
  await cluster?.stop();
  await remote?.stop();
}, timeoutMs);

it.each(short)(
  "no proxy loses configuration under $name, and all of it is current afterwards",
  async (fault) => {
    const result = await run.run(fault);
    // The changes made meanwhile reached the proxies.
    expect(result.responses).toBeGreaterThan(0);
  },
  timeoutMs,
);

it(
  "a deleted object that no change deleted is reported as a loss",
  async () => {
    const service = ({ mesh }: FaultContext): MeshObject => mesh.service(mesh.serviceAt(1));
    const vanishing: Fault = {
      name: "service-deleted",
      startup: "ready",
      isCurrent: true,
      changes: [],
      begin: (context) => context.cluster.objects.delete(service(context)),
      end: (context) => context.cluster.objects.write([service(context)]),
    };
    await expect(run.run(vanishing)).rejects.toThrow(/lost Cluster (?:in|out)bound\|/);
  },
  timeoutMs,
);
