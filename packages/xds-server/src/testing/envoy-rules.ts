import { clusterType, listenerType } from "@istiod/resources";
import type { ReceivedResource, ReceivedResponse } from "./response.js";

/** The reason why a proxy rejects a resource. */
export interface Refusal {
  readonly reason: string;
  /** Set if the resource fails validation when it is decoded: then nothing of its response is applied. */
  readonly isUndecodable?: boolean;
}

/** The outcome of a response on a proxy. */
export interface Outcome {
  /** Resources and removals that become active. */
  readonly applied: readonly ReceivedResource[];
  readonly removed: readonly string[];
  /** Set if nothing of the response is applied. */
  readonly isIgnored?: true;
  /** The error message, if the response is rejected. */
  readonly error?: string;
}

/**
 * Returns what Envoy does with a response, as seen in Envoy 1.40. Resources that fail validation when they are decoded
 * reject the whole response. Of clusters and listeners the valid ones become active, and the message lists the others.
 * Of other types the resources are applied in no particular order up to the first invalid one, which is not named.
 *
 * @param random returns a number from 0 to less than 1
 */
export function judge(
  { typeUrl, resources, removed }: ReceivedResponse,
  refuse: (typeUrl: string, resource: ReceivedResource) => Refusal | undefined,
  random: () => number,
): Outcome {
  const refusals = new Map<ReceivedResource, Refusal>();
  for (const resource of resources) {
    const refusal = refuse(typeUrl, resource);
    if (refusal?.isUndecodable === true)
      return { applied: [], removed: [], isIgnored: true, error: undecodable(resource, refusal) };
    if (refusal !== undefined) refusals.set(resource, refusal);
  }
  if (refusals.size === 0) return { applied: resources, removed };
  if (typeUrl === clusterType || typeUrl === listenerType) {
    const applied = resources.filter((resource) => !refusals.has(resource));
    return { applied, removed, error: list(typeUrl, refusals) };
  }
  const order = resources.map((resource) => ({ resource, at: random() })).sort((a, b) => a.at - b.at);
  const bad = order.findIndex(({ resource }) => refusals.has(resource));
  const applied = order.slice(0, bad).map(({ resource }) => resource);
  const error = refusals.get(order[bad]?.resource as ReceivedResource)?.reason ?? "";
  return { applied, removed: random() < 0.5 ? removed : [], error };
}

function undecodable({ name }: ReceivedResource, { reason }: Refusal): string {
  return `goo.gle/debugonly  \nname: "${name}"\nsome {\n  field: 1\n}\n: Proto constraint validation failed (${reason})`;
}

function list(typeUrl: string, refusals: ReadonlyMap<ReceivedResource, Refusal>): string {
  const entries = [...refusals].map(([{ name }, { reason }]) => `${name}: ${reason}`);
  return typeUrl === clusterType
    ? `Error adding/updating cluster(s) ${entries.join(", ")}`
    : `Error adding/updating listener(s) ${entries.map((entry) => `${entry}\n`).join("")}`;
}
