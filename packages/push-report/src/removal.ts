import type { Subscription } from "@istiod/xds-server";
import type { MissingResources } from "./missing-resources.js";
import type { ObjectName } from "./object-name.js";
import type { ObjectStatus, StatusSources } from "./object-status.js";
import { isSettling } from "./settling.js";

/**
 * Returns the status of a deleted object. Its effect can no longer be computed, so the status is that of the change
 * that deleted it: its responses, and the streams to which it is not pushed yet. An object that istiod wrote for it may
 * be deleted later.
 */
export function removalStatus<C>(sources: StatusSources<C>, object: ObjectName): ObjectStatus {
  const { changes, deliveries } = sources;
  const revision = changes.lastChangeOf(object);
  const connections = sources.connections();
  const left = sources.writtenFor?.(object);
  const status = {
    object,
    found: false,
    ...(left !== undefined && { unremoved: left.object }),
    connected: connections.length,
    settling: connections.filter((connection) => isSettling(sources, connection)).length,
  };
  if (revision === undefined) return { ...status, reached: 0, live: 0, rejected: 0, missing: [] };
  const report = changes.report(revision);
  const unanswered = [...changes.unanswered(revision)].flatMap(({ connection, typeUrl }): MissingResources[] => {
    const proxy = connections.find(({ id }) => id === connection)?.node.id;
    return proxy === undefined ? [] : [{ proxy, reason: "not acknowledged", typeUrl, resources: [] }];
  });
  const rejected = (report?.nacks ?? []).flatMap(({ proxy, typeUrl, resources, message }): MissingResources[] => {
    const isCurrent = connections.some(
      ({ id, node, subscriptions }) =>
        node.id === proxy &&
        (!deliveries.acknowledged(id, typeUrl, revision) ||
          subscriptions.some((subscription) => subscription.typeUrl === typeUrl && isMissing(subscription, resources))),
    );
    return isCurrent ? [{ proxy, reason: "rejected", typeUrl, resources, message }] : [];
  });
  const sentTo = new Set([...rejected, ...unanswered].map(({ proxy }) => proxy));
  const unsent = connections
    .filter(({ pendingRevision }) => pendingRevision !== undefined && pendingRevision <= revision)
    .filter(({ node }) => !sentTo.has(node.id))
    .map(({ node }): MissingResources => ({ proxy: node.id, reason: "not sent", typeUrl: "", resources: [] }));
  const missing = [...rejected, ...unanswered, ...unsent];
  const reached = Math.max(sentTo.size, report?.proxies ?? 0) + unsent.length;
  return {
    ...status,
    revision,
    reached,
    live: reached - new Set(missing.map(({ proxy }) => proxy)).size,
    rejected: new Set(rejected.map(({ proxy }) => proxy)).size,
    missing,
  };
}

/** Reports whether a removal or one of the rejected resources is outstanding. */
function isMissing({ unaccepted, unremoved }: Subscription, resources: readonly string[]): boolean {
  return unremoved.length > 0 || unaccepted.some(({ name, state }) => state !== "rejected" || resources.includes(name));
}
