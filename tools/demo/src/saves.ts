import { setTimeout as sleep } from "node:timers/promises";
import type { ProxyStatus, ReadSnapshot, Snapshot } from "./istiod-client.js";
import type { Problem } from "./problem.js";

/** The effect of a save. */
export interface SaveResult {
  /** Proxies that were sent something. */
  readonly updated: number;
  /** Time from the save until all of them had acknowledged it; absent where some have not. */
  readonly milliseconds?: number;
  /** Proxies that rejected what they were sent, with Envoy's reason. */
  readonly rejected: readonly string[];
  readonly found: readonly Problem[];
  readonly resolved: readonly Problem[];
  /** The state afterwards. */
  readonly after: Snapshot;
}

export interface FollowOptions {
  /** Time without new pushes or answers after which a save is complete. Default: 300 ms. */
  readonly quiet?: number;
  /** Time for istiod to notice a written file. Default: 1500 ms. */
  readonly notice?: number;
  /** Timeout. Default: 10 s. */
  readonly limit?: number;
}

const POLL_INTERVAL = 20;

/**
 * Waits until istiod has read a save and the proxies have answered the resulting push.
 *
 * @param savedAt milliseconds since the epoch
 */
export async function followSave(
  read: ReadSnapshot,
  before: Snapshot,
  savedAt: number,
  options: FollowOptions = {},
): Promise<SaveResult> {
  const { quiet = 300, notice = 1500, limit = 10_000 } = options;
  const deadline = Date.now() + limit;
  let noticed = false;
  let last = summary(before, before);
  let changedAt = Date.now();
  for (;;) {
    const now = await read();
    noticed ||= now.gathering;
    const next = summary(before, now);
    if (now.gathering || next.key !== last.key) changedAt = Date.now();
    last = next;
    const idle = Date.now() - changedAt;
    const settled =
      !now.gathering &&
      next.waiting === 0 &&
      idle >= (noticed || next.key !== summary(before, before).key ? quiet : notice);
    if (settled || Date.now() > deadline) {
      const { updated, rejected, found, resolved, waiting } = next;
      return {
        updated,
        rejected,
        found,
        resolved,
        after: now,
        ...(waiting === 0 && { milliseconds: changedAt - savedAt }),
      };
    }
    await sleep(POLL_INTERVAL);
  }
}

function summary(before: Snapshot, now: Snapshot) {
  const old = new Map(before.proxies.map((proxy) => [proxy.proxy, proxy]));
  const updated = now.proxies.filter((proxy) => versions(proxy) !== versions(old.get(proxy.proxy))).length;
  const waiting = now.proxies
    .flatMap(resources)
    .filter(({ sent, acked, lastError }) => sent !== undefined && sent !== acked && lastError === undefined).length;
  const oldErrors = new Set(before.proxies.flatMap(errors));
  const rejected = now.proxies.flatMap(errors).filter((error) => !oldErrors.has(error));
  const found = without(now.problems, before.problems);
  const resolved = without(before.problems, now.problems);
  const key = JSON.stringify([now.proxies.map(versions), waiting, rejected, found, resolved]);
  return { updated, waiting, rejected, found, resolved, key };
}

function resources({ resources: byType = {} }: ProxyStatus) {
  return Object.values(byType);
}

function versions(proxy: ProxyStatus | undefined): string {
  return proxy === undefined
    ? ""
    : resources(proxy)
        .map(({ sent }) => sent)
        .join(" ");
}

function errors(proxy: ProxyStatus): string[] {
  return resources(proxy).flatMap(({ lastError }) => (lastError === undefined ? [] : [`${proxy.proxy}: ${lastError}`]));
}

function without(these: readonly Problem[], those: readonly Problem[]): Problem[] {
  const known = new Set(those.map(({ text }) => text));
  return these.filter(({ text }) => !known.has(text));
}
