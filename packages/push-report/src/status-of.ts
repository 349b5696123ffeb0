import { formatOtherRevision } from "@istiod/config-schema";
import { pauseEvery } from "@istiod/runtime";
import type { Connection } from "@istiod/xds-server";
import { Effects } from "./effects.js";
import { type MissingResources, missingResources } from "./missing-resources.js";
import { effectElsewhere, reasonWithoutEffect } from "./no-effect.js";
import { inputsOf, objectOfOtherRevision, type ObjectName } from "./object-name.js";
import type { ObjectStatus, StatusSources, WrittenObject } from "./object-status.js";
import { removalStatus } from "./removal.js";
import { isSettling } from "./settling.js";

export interface StatusOptions {
  /** Milliseconds of work after which the event loop gets a turn. Default 8. */
  readonly sliceMs?: number;
  /** Yields to the event loop. Default: `setImmediate`. */
  readonly yieldTurn?: () => Promise<unknown>;
}

/** Number of attempts if commits keep invalidating the work. The last attempt does not yield. */
const maxAttempts = 4;
const maxMissing = 50;

/**
 * Returns the status of an object at one moment after the call. A proxy is reached if a dry run without the object
 * gives it other resources. This costs as much as deleting the object would, so callers should cache the result for as
 * long as the revision stays the same. The work yields to the event loop between proxies and starts over after a
 * commit.
 */
export async function statusOf<C>(
  sources: StatusSources<C>,
  object: ObjectName,
  { sliceMs = 8, yieldTurn }: StatusOptions = {},
): Promise<ObjectStatus> {
  const { database } = sources;
  for (let attempt = 1; ; attempt++) {
    const { revision } = database;
    const inputs = inputsOf(database, object);
    const other = inputs.length === 0 ? objectOfOtherRevision(database, object) : undefined;
    if (other !== undefined)
      return statusWithoutProxies(sources, object, { noEffect: `it ${formatOtherRevision(other)}` });
    const unread = inputs.length === 0 ? sources.reasonUnread?.(object) : undefined;
    if (unread !== undefined) return { ...statusWithoutProxies(sources, object, { noEffect: unread }), found: false };
    if (inputs.length === 0) return removalStatus(sources, object);
    const noEffect = reasonWithoutEffect(sources, inputs);
    if (noEffect !== undefined) return statusWithoutProxies(sources, object, { noEffect });
    const elsewhere = effectElsewhere(inputs);
    if (elsewhere !== undefined) return statusWithoutProxies(sources, object, { effectElsewhere: elsewhere });
    const written = sources.writtenFor?.(object);
    const all = written === undefined ? inputs : [...inputs, ...inputsOf(database, written.object)];
    const effects = new Effects(
      sources,
      database.dryRun((tx) => all.forEach(({ collection, key }) => tx.delete(collection, key))),
    );
    const pause = pauseEvery(sliceMs, yieldTurn);
    for (const step of effects.steps(sources.connections())) {
      const paused = attempt < maxAttempts ? pause() : undefined;
      if (paused !== undefined) {
        await paused;
        if (database.revision !== revision) break;
      }
      step();
    }
    if (database.revision === revision) return statusNow(sources, object, effects);
  }
}

function statusWithoutProxies<C>(
  sources: StatusSources<C>,
  object: ObjectName,
  reason: Pick<ObjectStatus, "noEffect" | "effectElsewhere">,
): ObjectStatus {
  const known = knownWithoutEffects(sources, object, sources.connections());
  return { ...known, ...reason, reached: 0, live: 0, rejected: 0, missing: [] };
}

function statusNow<C>(sources: StatusSources<C>, object: ObjectName, effects: Effects<C>): ObjectStatus {
  const connections = sources.connections();
  const known = withWritten(sources, knownWithoutEffects(sources, object, connections));
  const missing: MissingResources[] = [];
  let [reached, live, rejected] = [0, 0, 0];
  for (const connection of connections) {
    const missingByType = connection.subscriptions.flatMap((subscription) => {
      const effect = effects.on(connection, subscription);
      return effect === undefined
        ? []
        : [missingResources(sources.deliveries, connection, subscription, effect, known.revision)];
    });
    if (missingByType.length === 0) continue;
    reached++;
    const missingOnProxy = missingByType.flatMap((each) => each ?? []);
    if (missingOnProxy.length === 0) live++;
    if (missingOnProxy.some(({ reason }) => reason === "rejected")) rejected++;
    if (missing.length < maxMissing) missing.push(...missingOnProxy);
  }
  const awaited = sources.awaitedGateway?.(object);
  return {
    ...known,
    ...(awaited !== undefined && { awaited }),
    ...unwrittenOf(sources.writtenFor?.(object)),
    reached,
    live,
    rejected,
    missing,
  };
}

function unwrittenOf(written: WrittenObject | undefined): Pick<ObjectStatus, "unwritten" | "reasonUnwritten"> {
  if (written === undefined || written.isCurrent) return {};
  const { object: unwritten, reasonUnwritten } = written;
  return { unwritten, ...(reasonUnwritten !== undefined && { reasonUnwritten }) };
}

/** Returns what is known with the revision of the last change of the object, or of the one that is written for it. */
function withWritten<C, K extends Pick<ObjectStatus, "object" | "revision">>(sources: StatusSources<C>, known: K): K {
  const written = sources.writtenFor?.(known.object);
  const revision = written && sources.changes.lastChangeOf(written.object);
  return revision === undefined ? known : { ...known, revision: Math.max(known.revision ?? 0, revision) };
}

function knownWithoutEffects<C>(
  sources: StatusSources<C>,
  object: ObjectName,
  connections: readonly Connection[],
): Pick<ObjectStatus, "object" | "found" | "revision" | "connected" | "settling"> {
  const revision = sources.changes.lastChangeOf(object);
  return {
    object,
    found: true,
    ...(revision !== undefined && { revision }),
    connected: connections.length,
    settling: connections.filter((connection) => isSettling(sources, connection)).length,
  };
}
