import type { Resource } from "@istiod/resources";
import type { ShownChanges } from "../attribution.js";
import type { ResourceRejection } from "../events.js";

/** A resource that the client may have or not, because the response that carried it was rejected. */
export interface Doubt {
  /** The resource that the client acknowledged last, if any. */
  accepted: Resource | undefined;
  /**
   * `queued`: to be sent again, in a response with fewer resources. `sent`: a response with it is unanswered.
   * `rejected`: the client rejected it by its name, or alone. `removed`: it does not exist any more, and the client has
   * not acknowledged that.
   */
  state: "queued" | "sent" | "rejected" | "removed";
  /** The version that is queued, sent or rejected. */
  version: string;
  /** The resource in that version. */
  resource: Resource;
  /**
   * Earlier versions of responses that were rejected or are not answered yet, and that were neither acknowledged nor
   * rejected by themselves, oldest first. The client may use one of them, and does not list it when it reconnects.
   */
  earlier: readonly Resource[];
  /**
   * A rejected version that holds the place of the resource in full states, so that the client keeps a version that it
   * has from an earlier stream and that the server does not know.
   */
  placeholder: Resource | undefined;
  /** Rejections in a row. */
  attempts: number;
  rejection: ResourceRejection | undefined;
  /** Time at which a rejected resource is sent again. */
  retryAt: number;
  /** The changes that the rejected response showed. */
  shown: ShownChanges;
}

/** Earlier versions of a resource that are remembered. More changes than responses that a client leaves unanswered. */
const maxEarlier = 32;

/** No changes, for resources that are sent again without them. */
export const nothingShown: ShownChanges = { changes: [] };

/** Returns a resource in doubt that is to be sent again. */
export function queuedDoubt(resource: Resource, accepted: Resource | undefined): Doubt {
  const { version } = resource;
  const rejection = { attempts: 0, rejection: undefined, retryAt: 0, shown: nothingShown };
  return { accepted, state: "queued", version, resource, earlier: [], placeholder: undefined, ...rejection };
}

/** Reports whether a resource must not be sent with others. */
export function isWaiting({ state }: Doubt): boolean {
  return state === "queued" || state === "rejected";
}

/** Records another version as the present one. The one before it is an earlier one then, unless it is rejected. */
export function replaceVersion(doubt: Doubt, resource: Resource): void {
  const before = doubt.state === "queued" || doubt.state === "sent" ? doubt.resource : undefined;
  doubt.version = resource.version;
  doubt.resource = resource;
  dropEarlier(doubt, resource);
  if (before !== undefined) addEarlier(doubt, before);
}

/** Adds a version before the present one. */
export function addEarlier(doubt: Doubt, resource: Resource): void {
  dropEarlier(doubt, resource);
  if (resource.version !== doubt.version) doubt.earlier = [...doubt.earlier, resource].slice(-maxEarlier);
}

/** Forgets an earlier version. */
export function dropEarlier(doubt: Doubt, { version }: Resource): void {
  if (doubt.earlier.length > 0) doubt.earlier = doubt.earlier.filter((each) => each.version !== version);
}
