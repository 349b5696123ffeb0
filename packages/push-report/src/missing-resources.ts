import { formatFailure } from "@istiod/resources";
import type { Connection, Subscription } from "@istiod/xds-server";
import type { Deliveries } from "./deliveries.js";
import type { Effect } from "./effects.js";

/** Resources that are not live on a proxy. */
export interface MissingResources {
  readonly proxy: string;
  readonly reason: "not sent" | "not acknowledged" | "rejected" | "not generated";
  readonly typeUrl: string;
  readonly resources: readonly string[];
  /**
   * The proxy's error message, if it rejected these resources or others in the same response, or the reason why they
   * cannot be generated.
   */
  readonly message?: string;
}

/**
 * Returns the resources of one type that an object affects and that are not live; undefined if all are.
 *
 * @param revision revision of the object's last change; undefined if it has not changed since the start
 */
export function missingResources(
  deliveries: Deliveries,
  connection: Connection,
  subscription: Subscription,
  { changed, removed, failed }: Effect,
  revision: number | undefined,
): MissingResources | undefined {
  const { typeUrl } = subscription;
  const missing = { proxy: connection.node.id, typeUrl };
  const [failure] = failed;
  if (failure !== undefined) {
    const resources = [...new Set(failed.map(({ name, part }) => part?.name ?? name))];
    return { ...missing, reason: "not generated", resources, message: formatFailure(failure) };
  }
  const rejected = changed.flatMap(({ name }) => {
    const error = deliveries.rejectionOf(connection.id, typeUrl, name, subscription.sentOf(name)?.version);
    return error === undefined ? [] : [{ name, error }];
  });
  const [first] = rejected;
  if (first !== undefined) {
    const resources = rejected.map(({ name }) => name);
    return { ...missing, reason: "rejected", resources, message: first.error.message };
  }
  if (deliveries.acknowledged(connection.id, typeUrl, revision ?? 0)) return undefined;
  const unsent = [
    ...changed.filter(({ name, version }) => subscription.sentOf(name)?.version !== version).map(({ name }) => name),
    ...removed.filter((name) => subscription.sentOf(name) !== undefined),
  ];
  if (unsent.length > 0) return { ...missing, reason: "not sent", resources: unsent };
  if (subscription.nonceSent === subscription.nonceAcked) return undefined;
  const error = deliveries.lastRejection(connection.id, typeUrl);
  return {
    ...missing,
    reason: "not acknowledged",
    resources: [...changed.map(({ name }) => name), ...removed],
    ...(error !== undefined && { message: `another resource of the response was rejected: ${error.message}` }),
  };
}
