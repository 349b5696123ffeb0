import { setTimeout as wait } from "node:timers/promises";
import { eventually } from "../eventually.js";
import type { IsolationRig, LiveChange } from "./isolation-rig.js";
import type { Slot } from "./slots.js";

/** Figures of a sequence. */
export interface SequenceResult {
  /** The steps, in order. */
  readonly steps: readonly string[];
  /** The changes of the innocent namespace. */
  readonly live: readonly LiveChange[];
  /** Differences between the Envoys' configuration and the accepted resources, at rest. */
  readonly differences: readonly string[];
  readonly failedRequests: number;
  readonly failures: readonly string[];
  /** Milliseconds from the last step until the Envoys were at rest. */
  readonly restMs: number;
}

/**
 * Milliseconds within which the Envoys must have all that they can accept. A listener whose port was in use is tried
 * again after delays that double, so that this is more than twice as long as a port is held.
 */
const deadlineMs = 60_000;
/** Milliseconds that others' changes may take to be live. */
export const liveMs = 2_000;
/** Milliseconds without a CPU for this process, above which the time of a change says nothing of istiod. */
const busyMs = 200;

/** A source of pseudo-random numbers from 0 to 1, by a seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

let values = 0;

/**
 * Runs one random sequence of steps, and waits until the Envoys are at rest: first with the ports that are held then,
 * and again after these are released.
 */
export async function runSequence(rig: IsolationRig, random: () => number): Promise<SequenceResult> {
  const steps: string[] = [];
  const live: LiveChange[] = [];
  const count = 3 + Math.floor(random() * 5);
  for (let step = 0; step < count; step++) {
    const drawn = random();
    if (drawn < 0.65) steps.push(await tenantStep(rig, random));
    else if (drawn < 0.92) {
      live.push(await rig.changeInnocents());
      steps.push("innocent change");
    } else if (drawn < 0.99) {
      rig.reconnect();
      steps.push("reconnect");
    } else {
      await rig.restart(Math.floor(random() * 2));
      steps.push("restart");
    }
    await wait(Math.floor(random() * 120));
  }
  const start = performance.now();
  const differences = [...(await untilAtRest(rig))];
  const held = rig.slots.filter((slot) => slot.isHeld);
  if (held.length > 0) {
    // The backoff of a port that is held for long would be longer than a sequence.
    for (const slot of held) await slot.release();
    differences.push(...(await untilAtRest(rig)));
  }
  const restMs = performance.now() - start;
  const { failed, failures } = await rig.traffic.take();
  return { steps, live, differences, failedRequests: failed, failures, restMs };
}

/** Returns the sentences that say which promise a sequence broke. */
export function brokenPromises({ live, differences, failedRequests, failures }: SequenceResult): readonly string[] {
  const late = live.filter((change) => change.ms > liveMs && change.busyMs < busyMs);
  return [
    ...differences.map((difference) => difference.slice(0, 600)),
    ...(failedRequests > 0 ? [`${failedRequests} requests of others failed: ${failures[0] ?? ""}`] : []),
    ...late.map(({ ms }) => `a change of others was live after ${ms.toFixed(0)} ms, expected ${liveMs} ms at most`),
  ];
}

async function tenantStep(rig: IsolationRig, random: () => number): Promise<string> {
  const slot = rig.slots[Math.floor(random() * rig.slots.length)];
  if (slot === undefined) throw new Error("there are no slots");
  const drawn = random();
  if (slot.isHeld && drawn < 0.35) {
    await slot.release();
    return `${slot.port}: released`;
  }
  if (slot.state.kind === "absent" && !slot.isHeld && drawn < 0.4 && (await slot.hold())) return `${slot.port}: held`;
  slot.set(drawnState(random));
  await rig.writeTenant();
  return `${slot.port}: ${slot.state.kind}`;
}

function drawnState(random: () => number): Slot["state"] {
  const drawn = random();
  if (drawn < 0.25) return { kind: "absent" };
  return { kind: drawn < 0.65 ? "good" : "rejected", value: ++values };
}

async function untilAtRest(rig: IsolationRig): Promise<readonly string[]> {
  let last: readonly string[] = [];
  try {
    await eventually(
      "the Envoys have what they can accept",
      async () => {
        last = await rig.differences();
        return last.length === 0;
      },
      deadlineMs,
      50,
    );
    await rig.settle();
    return [];
  } catch (error) {
    return last.length > 0 ? last : [String(error)];
  }
}
