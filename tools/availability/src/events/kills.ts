import { setTimeout as wait } from "node:timers/promises";
import { eventually } from "@istiod/outage";
import type { LeaderRecord } from "../cluster/cluster-user.js";
import type { Replica } from "../control-plane/replica.js";
import { namespace } from "../data-plane/workload-objects.js";
import { type AvailabilityEvent, eventMs } from "./event.js";

/** Milliseconds until a kubelet starts the container of a process that ended. */
const restartMs = 1_000;

async function killAndRestart(replica: Replica): Promise<void> {
  await replica.kill();
  await wait(restartMs);
  await replica.start();
}

/** SIGKILL of the first istiod. */
export const killOne: AvailabilityEvent = {
  name: "kill-one",
  async run(rig) {
    const [first] = rig.controlPlane.replicas;
    if (first === undefined) throw new Error("there is no istiod");
    await killAndRestart(first);
    await rig.untilComplete();
    return { kills: 1 };
  },
};

/** SIGKILL of each istiod in turn, each of which starts again. */
export const killEach: AvailabilityEvent = {
  name: "kill-each",
  async run(rig) {
    const { replicas } = rig.controlPlane;
    for (const replica of replicas) {
      await killAndRestart(replica);
      await rig.untilComplete();
    }
    return { kills: replicas.length };
  },
};

/** SIGKILL of the leader. It starts again when another istiod has written what it owed. */
export const killLeader: AvailabilityEvent = {
  name: "kill-leader",
  async run(rig) {
    const name = await livingLeader(() => rig.user.leaderRecord(), eventMs);
    const leader = rig.controlPlane.replicas.find((replica) => replica.name === name);
    if (leader === undefined) throw new Error(`the leader ${name} is no istiod of this run`);
    const killedAt = performance.now();
    await leader.kill();
    await rig.cluster.objects.delete({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "istio-ca-root-cert", namespace },
    });
    const missing = async (): Promise<string | undefined> =>
      (await rig.user.rootCertificates(namespace)) === undefined ? "nobody writes istio-ca-root-cert" : undefined;
    await eventually(missing, eventMs);
    const leadershipSeconds = (performance.now() - killedAt) / 1000;
    await leader.start();
    await rig.untilComplete();
    return { leadershipSeconds, kills: 1 };
  },
};

/**
 * Returns the identity of the leader after its next renewal: the record may be that of a process that has ended.
 *
 * @throws Error if the lock is not renewed before the deadline
 */
export async function livingLeader(read: () => Promise<LeaderRecord | undefined>, deadlineMs: number): Promise<string> {
  const first = await read();
  let last: LeaderRecord | undefined;
  await eventually(async () => {
    last = await read();
    return last && last.renewTime !== first?.renewTime ? undefined : "nobody renews the leader lock";
  }, deadlineMs);
  return last?.holderIdentity ?? "";
}
