import type { ObjectName } from "./object-name.js";
import type { Missing, ObjectStatus, StatusSources } from "./object-status.js";
import { isSettling } from "./settling.js";

/**
 * The status of an object that is not there. What it did to proxies cannot be computed any more; whether they know that
 * it is gone is told from the change that took it away: what was sent of that, and who waits to be served it.
 */
export function removalStatus<C>(sources: StatusSources<C>, object: ObjectName): ObjectStatus {
  const { changes, deliveries } = sources;
  const revision = changes.lastChangeOf(object);
  const present = sources.connections();
  const of = {
    object,
    found: false,
    connected: present.length,
    settling: present.filter((connection) => isSettling(sources, connection)).length,
  };
  if (revision === undefined) return { ...of, reached: 0, live: 0, refused: 0, missing: [] };
  const report = changes.report(revision);
  const unpushed = present.filter(
    ({ pendingRevision }) => pendingRevision !== undefined && pendingRevision <= revision,
  );
  const unanswered = [...changes.unanswered(revision)].flatMap(({ connection, typeUrl }): Missing[] => {
    const proxy = present.find(({ id }) => id === connection)?.node.id;
    return proxy === undefined ? [] : [{ proxy, reason: "not acknowledged", typeUrl, resources: [] }];
  });
  const refusing = (report?.nacks ?? []).flatMap(({ proxy, typeUrl, resources, message }): Missing[] => {
    const stands = present.some(({ id, node }) => node.id === proxy && !deliveries.acknowledged(id, typeUrl, revision));
    return stands ? [{ proxy, reason: "refused", typeUrl, resources, message }] : [];
  });
  const told = new Set([...refusing, ...unanswered].map(({ proxy }) => proxy));
  const unsent = unpushed
    .filter(({ node }) => !told.has(node.id))
    .map(({ node }): Missing => ({ proxy: node.id, reason: "not sent", typeUrl: "", resources: [] }));
  const missing = [...refusing, ...unanswered, ...unsent];
  const behind = new Set(missing.map(({ proxy }) => proxy));
  const reached = Math.max(told.size, report?.proxies ?? 0) + unsent.length;
  return {
    ...of,
    revision,
    reached,
    live: reached - behind.size,
    refused: new Set(refusing.map(({ proxy }) => proxy)).size,
    missing,
  };
}
