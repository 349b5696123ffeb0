import { formatName } from "@istiod/push-report";
import type { UnservedClient } from "../connected-proxies.js";
import type { Gathered, ReplicaFailure, SilentReplica } from "../gathered.js";
import type { ReplicaInstance } from "../replica.js";
import type { AnnotatedStatus, AppliedPatch, LackedPart, StatusAnswer, UnreadSource } from "./status-answer.js";

/** The statuses of objects on all proxies of a control plane. */
export interface ControlPlaneStatus extends Omit<StatusAnswer, "revision" | "connections"> {
  /** The replicas that answer. */
  readonly replicas: readonly (ReplicaInstance & { readonly configRevision: number })[];
  readonly failures: readonly ReplicaFailure[];
  readonly silent: readonly SilentReplica[];
  /** Connected clients that no object can reach, because istiod does not serve clients of their kind. */
  readonly unserved: readonly UnservedClient[];
}

const maxMissing = 50;

/** Joins the answers of the replicas: proxies are added up, and problems and findings are listed once. */
export function joinStatus(
  { answers, failures, silent }: Gathered<StatusAnswer>,
  unserved: readonly UnservedClient[] = [],
): ControlPlaneStatus {
  const all = answers.map(({ answer }) => answer);
  const names = [...new Set(all.flatMap(({ objects }) => objects.map(({ object }) => formatName(object))))];
  return {
    replicas: answers.map(({ instance, answer }) => ({ ...instance, configRevision: answer.revision })),
    failures,
    silent,
    unserved,
    gathering: all.some(({ gathering }) => gathering),
    objects: names.map((name) => joinObject(name, answers)),
    problems: distinct(all.flatMap(({ problems }) => problems)),
    newFindings: distinct(all.flatMap(({ newFindings }) => newFindings)),
    moreFindings: Math.max(0, ...all.map(({ moreFindings }) => moreFindings)),
  };
}

type Answers = Gathered<StatusAnswer>["answers"];

function joinObject(name: string, answers: Answers): AnnotatedStatus {
  const statuses = answers.flatMap(({ instance, answer: { objects } }) =>
    objects.filter(({ object }) => formatName(object) === name).map((status) => ({ replica: instance.name, status })),
  );
  const all = statuses.map(({ status }) => status);
  const [first] = all;
  if (first === undefined) throw new Error(`no status of ${name}`);
  const sum = (field: "connected" | "settling" | "reached" | "live" | "rejected"): number =>
    all.reduce((total, status) => total + status[field], 0);
  const found = all.filter((status) => status.found);
  const { revision, noEffect, effectElsewhere } = found[0] ?? first;
  // The proxies are connected to one of the replicas.
  const awaited = found.every((status) => status.awaited !== undefined) ? found[0]?.awaited : undefined;
  const needing = found.filter((status) => status.unwritten !== undefined);
  const { unwritten, reasonUnwritten } = needing[0] ?? {};
  const unremoved = all.find((status) => status.unremoved !== undefined)?.unremoved;
  return {
    object: first.object,
    found: found.length > 0,
    // An effect on one replica is one.
    ...(noEffect !== undefined && found.every((status) => status.noEffect !== undefined) && { noEffect }),
    ...(effectElsewhere !== undefined && { effectElsewhere }),
    ...(awaited !== undefined && { awaited }),
    ...(unwritten !== undefined && { unwritten }),
    // One replica whose cluster has the controller is enough.
    ...(reasonUnwritten !== undefined &&
      needing.every((status) => status.reasonUnwritten !== undefined) && { reasonUnwritten }),
    ...(unremoved !== undefined && { unremoved }),
    ...(revision !== undefined && { revision }),
    connected: sum("connected"),
    settling: sum("settling"),
    reached: sum("reached"),
    live: sum("live"),
    rejected: sum("rejected"),
    missing: all.flatMap(({ missing }) => missing).slice(0, maxMissing),
    findings: distinct(all.flatMap(({ findings }) => findings)),
    omitted: joinParts(all.flatMap(({ omitted }) => omitted)),
    ...(all.some(({ patches }) => patches !== undefined) && {
      patches: joinPatches(all.flatMap(({ patches = [] }) => patches)),
    }),
    unread: [
      ...statuses.flatMap(({ replica, status }) => status.unread.map((unread) => ({ ...unread, replica }))),
      ...notFound(statuses),
    ],
  };
}

/** Returns the replicas that have not read an object that others have. */
function notFound(
  statuses: readonly { readonly replica: string; readonly status: AnnotatedStatus }[],
): readonly UnreadSource[] {
  if (statuses.every(({ status }) => !status.found)) return [];
  return statuses.flatMap(({ replica, status: { found, unread } }) =>
    found || unread.length > 0 ? [] : [{ source: "its sources", replica }],
  );
}

function joinPatches(patches: readonly AppliedPatch[]): readonly AppliedPatch[] {
  const joined = new Map<number, AppliedPatch>();
  for (const { index, resources, proxies } of patches) {
    const known = joined.get(index) ?? { resources: 0, proxies: 0 };
    joined.set(index, { index, resources: known.resources + resources, proxies: known.proxies + proxies });
  }
  return [...joined.values()].sort((a, b) => a.index - b.index);
}

function joinParts(parts: readonly LackedPart[]): readonly LackedPart[] {
  const joined = new Map<string, LackedPart>();
  for (const part of parts) {
    const key = `${part.field}\0${part.reason}`;
    const { proxies = 0, proxy = part.proxy } = joined.get(key) ?? {};
    joined.set(key, { ...part, proxy, proxies: proxies + part.proxies });
  }
  return [...joined.values()];
}

function distinct<T>(list: readonly T[]): readonly T[] {
  return [...new Map(list.map((each) => [JSON.stringify(each), each])).values()];
}
