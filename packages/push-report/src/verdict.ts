import { formatName } from "./object-name.js";
import type { ObjectStatus } from "./object-status.js";

/** Reports whether an object is live on every proxy that it reaches, and reaches one, or takes effect elsewhere. */
export function isLive({ found, noEffect, effectElsewhere, unwritten, reached, live }: ObjectStatus): boolean {
  if (!found || noEffect !== undefined || unwritten !== undefined) return false;
  return effectElsewhere !== undefined || (reached > 0 && live === reached);
}

/**
 * Reports whether an object is deleted with the one that istiod wrote for it, and every affected proxy has acknowledged
 * the deletion.
 */
export function isGone({ found, missing, unremoved }: ObjectStatus): boolean {
  return !found && missing.length === 0 && unremoved === undefined;
}

/**
 * Reports whether waiting is useless: an object reaches no proxy although proxies are connected and settled, or needs
 * an object that no controller writes. A Gateway whose own proxies are being deployed is waited for, and so is an
 * object that istiod writes for another one.
 */
export function isIneffective(status: ObjectStatus): boolean {
  const { found, noEffect, effectElsewhere, awaited, unwritten, reasonUnwritten, connected, settling, reached } =
    status;
  if (noEffect !== undefined || reasonUnwritten !== undefined) return true;
  if (!found || effectElsewhere !== undefined) return false;
  const isWaiting = settling > 0 || awaited !== undefined || unwritten !== undefined;
  return reached === 0 && connected > 0 && !isWaiting;
}

/**
 * Formats a status as one sentence, such as `VirtualService/shop/cart: live on 3 of 4 proxies`.
 *
 * @param works False if it is known that the object does not work on proxies that have it. Default: true.
 */
export function formatStatus(status: ObjectStatus, works = true): string {
  return `${formatName(status.object)}: ${sentence(status, works)}`;
}

function sentence(status: ObjectStatus, works: boolean): string {
  const { found, revision, noEffect, effectElsewhere, awaited, reasonUnwritten, unremoved } = status;
  const { connected, settling, live, reached, rejected } = status;
  if (!found && noEffect !== undefined) return `not read: ${noEffect}`;
  const left = unremoved === undefined ? "" : `; ${formatName(unremoved)}, which istiod wrote for it, still exists`;
  if (!found && revision === undefined) return `not found${left}`;
  const note = rejected > 0 ? `, rejected by ${rejected}` : "";
  if (!found) return `deleted, gone from ${live} of ${proxies(reached)}${note}${left}`;
  if (noEffect !== undefined) return `has no effect: ${noEffect}`;
  if (effectElsewhere !== undefined) return effectElsewhere;
  const outdated = outdatedClause(status);
  if (connected === 0 && awaited === undefined && reasonUnwritten === undefined) return "no proxy is connected";
  if (reached > 0)
    return `${works ? "live on" : "has errors, though acknowledged by"} ${live} of ${proxies(reached)}${note}${outdated === undefined ? "" : `; ${outdated}`}`;
  const none = `reaches none of ${connected} connected ${connected === 1 ? "proxy" : "proxies"}`;
  if (awaited !== undefined && reasonUnwritten === undefined)
    return `${none}: those of Gateway ${awaited} are not connected yet`;
  if (outdated !== undefined) return `${none}: ${outdated}`;
  return settling === 0 ? none : `${none} yet; ${settling} still settling`;
}

/** Describes an object that istiod writes for another one, and that is not as needed. */
function outdatedClause({ unwritten, reasonUnwritten }: ObjectStatus): string | undefined {
  if (unwritten === undefined) return undefined;
  const written = `${formatName(unwritten)}, which istiod writes for it, is missing or outdated`;
  return reasonUnwritten === undefined ? written : `${written}, and nobody writes it here: ${reasonUnwritten}`;
}

function proxies(count: number): string {
  return `${count} ${count === 1 ? "proxy" : "proxies"}`;
}
