import { setTimeout as wait } from "node:timers/promises";
import type { RouteChangesRig } from "./route-changes-rig.js";
import type { RouteSlot } from "./route-slot.js";

/** Changes that every changing route undergoes in a stage, one route after the other. */
export const routeStages = {
  created: "routes are created",
  edited: "their backend and a header change",
  weighted: "their weights change",
  "beside hostile objects": "hostile objects appear, and routes are edited beside them",
  deleted: "routes are deleted, and the hostile objects",
} as const;

export type RouteStage = keyof typeof routeStages;

/** Figures of a stage. */
export interface StageResult {
  readonly stage: RouteStage;
  readonly seconds: number;
  readonly changes: number;
  readonly requests: number;
  readonly failed: number;
  /** Requests that were not sent, because answers came slowly. */
  readonly skipped: number;
  readonly failures: readonly string[];
  /** Milliseconds, of the slower of the routes that stay. */
  readonly p99: number;
  readonly longest: number;
  /** Milliseconds from the last change until the gateway answered for every route as it was then. */
  readonly liveMs: number;
}

let versions = 0;

/**
 * Changes every route once, at a steady rate, and waits until all of it is live.
 *
 * @param changesPerSecond fewer, if the machine is slow
 */
export async function runStage(
  rig: RouteChangesRig,
  stage: RouteStage,
  changesPerSecond: number,
): Promise<StageResult> {
  const start = performance.now();
  if (stage === "beside hostile objects") await rig.writeHostile(true);
  if (stage === "deleted") await rig.writeHostile(false);
  for (const [n, slot] of rig.slots.entries()) {
    slot.state = changed(slot, stage);
    await rig.write(slot);
    await wait(Math.max(0, start + ((n + 1) * 1000) / changesPerSecond - performance.now()));
  }
  const liveMs = await rig.untilLive();
  const figures = await Promise.all(rig.traffic.map((traffic) => traffic.take()));
  const failed = figures.reduce((sum, each) => sum + each.failed, 0);
  return {
    stage,
    seconds: (performance.now() - start) / 1000,
    changes: rig.slots.length,
    requests: failed + figures.reduce((sum, each) => sum + each.succeeded, 0),
    failed,
    skipped: figures.reduce((sum, each) => sum + each.skipped, 0),
    failures: figures.flatMap((each) => each.failures),
    p99: Math.max(...figures.map((each) => each.p99)),
    longest: Math.max(...figures.map((each) => each.longest)),
    liveMs,
  };
}

function changed({ state }: RouteSlot, stage: RouteStage): RouteSlot["state"] {
  const version = ++versions;
  if (stage === "deleted") return { kind: "absent" };
  if (stage === "weighted") return { kind: "present", version, weights: [1 + (version % 9), 9 - (version % 9)] };
  const isOfCart = state.kind === "absent" || state.weights[0] === 0;
  return { kind: "present", version, weights: isOfCart ? [1, 0] : [0, 1] };
}
