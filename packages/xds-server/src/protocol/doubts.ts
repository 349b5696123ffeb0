import type { Resource, ResourceSet } from "@istiod/resources";
import type { ShownChanges } from "../attribution.js";
import type { ResourceRejection } from "../events.js";
import type { Selection } from "../wire/body-cache.js";
import type { TrialShare } from "../limits/trial-pool.js";
import { filtered, sliceNames, type Sliced } from "../sliced.js";
import { addEarlier, type Doubt, dropEarlier, nothingShown, queuedDoubt, replaceVersion } from "./doubt.js";
import { PendingRemovals } from "./pending-removals.js";
import { retryDelay } from "./retry-delay.js";
import { TrialBudget } from "./trial-budget.js";
import type { UnansweredResponses } from "./unanswered-responses.js";
import { substitute, withhold } from "./withheld.js";

/** Resources to send again in one response, with the changes that the rejected response showed. */
interface Group {
  readonly resources: readonly Resource[];
  readonly shown: ShownChanges;
}

/** The content of a response that sends resources of rejected responses again. */
export interface Trial {
  readonly resources: readonly Resource[];
  readonly removed: readonly string[];
  readonly shown: ShownChanges;
}

/** Properties of a stream that limit its trials. */
export interface TrialLimits {
  /** Returns a number from 0 to less than 1. */
  readonly random: () => number;
  readonly trials: TrialShare;
}

/** Rejected resources that are due within this share of their delay are sent again together. */
const togetherShare = 0.25;

/**
 * The resources of one type whose state on the client is unknown, or known to be rejected, after a rejected response.
 * Resources of the response are sent again in smaller responses until each is acknowledged, or is rejected by name or
 * alone.
 */
export class Doubts {
  readonly #random: () => number;
  readonly #doubts = new Map<string, Doubt>();
  /** Groups of queued resources. The last is sent first: halves of halves, so that few resources are sent often. */
  readonly #groups: Group[] = [];
  /** Names of rejected resources of which an earlier version is sent again, each alone. */
  readonly #earlier = new Set<string>();
  readonly #removals = new PendingRemovals();
  /** Set if the full state must be sent again, because it lacks resources that the client may still have. */
  #resync: ShownChanges | undefined;
  /** Set if a rejected full state carried resources that do not exist any more, until a full state is acknowledged. */
  #hasGone = false;
  /** Nonces of unanswered trials. */
  readonly #inFlight = new Set<string>();
  readonly #budget: TrialBudget;
  #retryAt = Infinity;
  /** The number of changes of the state, which distinguishes versions of responses. */
  #changes = 0;

  constructor({ random, trials }: TrialLimits) {
    this.#random = random;
    this.#budget = new TrialBudget(trials);
  }

  get size(): number {
    return this.#doubts.size;
  }

  get changes(): number {
    return this.#changes;
  }

  get(name: string): Doubt | undefined {
    return this.#doubts.get(name);
  }

  [Symbol.iterator](): Iterator<[string, Doubt]> {
    return this.#doubts[Symbol.iterator]();
  }

  /** The removals that were in rejected responses. */
  get removals(): Pick<PendingRemovals, "names" | "readded"> {
    return this.#removals;
  }

  /** Reports whether a resource is known to be rejected. */
  get hasRejected(): boolean {
    for (const { state } of this.#doubts.values()) if (state === "rejected") return true;
    return false;
  }

  /** Reports whether nothing is in doubt any more. */
  get isEmpty(): boolean {
    const pending = this.#doubts.size + this.#inFlight.size;
    return pending === 0 && this.#removals.isEmpty && this.#resync === undefined && !this.#hasGone;
  }

  /** Time until which queued resources wait because too many responses were rejected; undefined if they do not. */
  heldUntil(now: number): number | undefined {
    return this.#budget.allows(now) ? undefined : this.#budget.allowedAt;
  }

  /**
   * Records a resource whose state is unknown: a rejected response carried it, and a later one carries it, too.
   *
   * @param earlier the resource of the rejected response
   * @param later the resource in the later response
   * @param mayBeUsed reports whether the client may use the earlier resource; if not, it was rejected by its name
   */
  await(earlier: Resource, later: Resource, accepted: Resource | undefined, mayBeUsed: boolean): void {
    const doubt = this.#doubtOf(later, accepted);
    doubt.state = "sent";
    if (mayBeUsed) addEarlier(doubt, earlier);
    else dropEarlier(doubt, earlier);
  }

  /** Reports whether the client may use an earlier version of a resource. */
  get hasEarlier(): boolean {
    for (const { earlier } of this.#doubts.values()) if (earlier.length > 0) return true;
    return false;
  }

  /**
   * Records that a response was rejected that carried versions before the present ones.
   *
   * @param invalid names of resources that the client does not use in these versions
   */
  noteEarlier(resources: readonly Resource[], invalid: ReadonlyMap<string, string>): void {
    for (const resource of resources) {
      const doubt = this.#doubts.get(resource.name);
      if (doubt === undefined) continue;
      if (invalid.has(resource.name)) dropEarlier(doubt, resource);
      else if (!doubt.earlier.some(({ version }) => version === resource.version)) addEarlier(doubt, resource);
      if (doubt.state === "rejected" && doubt.earlier.length > 0) this.#earlier.add(resource.name);
    }
  }

  /** Returns the rejected versions that hold the places of resources in full states, by name. */
  placeholders(): ReadonlyMap<string, Resource> {
    const found = new Map<string, Resource>();
    for (const [name, { placeholder }] of this.#doubts) if (placeholder !== undefined) found.set(name, placeholder);
    return found;
  }

  /** Leaves out the resources that rejected versions hold the places of. */
  dropPlaceholders(): void {
    for (const doubt of this.#doubts.values()) doubt.placeholder = undefined;
    this.#changes++;
  }

  /** Records that a rejected version holds the place of its resource in full states. */
  hold(resource: Resource): void {
    const doubt = this.#doubts.get(resource.name);
    if (doubt !== undefined && doubt.accepted === undefined) doubt.placeholder = resource;
  }

  /** Records a rejected resource. It is tried again after a delay. */
  reject(
    resource: Resource,
    accepted: Resource | undefined,
    rejection: Omit<ResourceRejection, "attempts">,
    shown: ShownChanges,
  ): void {
    const doubt = this.#doubtOf(resource, accepted);
    doubt.shown = shown;
    dropEarlier(doubt, resource);
    if (doubt.earlier.length > 0) this.#earlier.add(resource.name);
    doubt.state = "rejected";
    this.#removals.rejected(resource.name, rejection.at);
    doubt.attempts++;
    doubt.rejection = { ...rejection, attempts: doubt.attempts };
    doubt.retryAt = rejection.at + retryDelay(doubt.attempts, this.#random());
    this.#retryAt = Math.min(this.#retryAt, doubt.retryAt);
  }

  /** Queues resources to be sent again in one response. */
  *queue(
    resources: readonly Resource[],
    acceptedOf: (name: string) => Resource | undefined,
    shown: ShownChanges,
  ): Sliced<void> {
    if (resources.length === 0) return;
    let handled = 0;
    for (const resource of resources) {
      if (++handled % sliceNames === 0) yield 0;
      this.#doubtOf(resource, this.#doubts.get(resource.name)?.accepted ?? acceptedOf(resource.name)).state = "queued";
    }
    this.#groups.push({ resources, shown });
  }

  /** Records names whose removal was rejected. They are removed again, after a delay if they were alone. */
  queueRemovals(names: readonly string[], shown: ShownChanges, wasAlone: boolean, now: number): void {
    this.#removals.queue(names, shown, now, wasAlone ? this.#random() : undefined);
  }

  /** Reports whether the client may have resources that do not exist any more, and that a full state removes. */
  get hasGone(): boolean {
    return this.#hasGone;
  }

  /** Records that a rejected full state carried resources that do not exist any more. */
  noteGone(): void {
    this.#hasGone = true;
  }

  /** Requests that the full state is sent again. */
  queueFullState(shown: ShownChanges): void {
    this.#resync = shown;
  }

  /** Records that a response is sent, with the resources that it carries. */
  *sending(resources: Iterable<Resource>, removed: readonly string[]): Sliced<void> {
    let handled = 0;
    for (const resource of this.#doubts.size === 0 ? [] : resources) {
      if (++handled % sliceNames === 0) yield 0;
      const doubt = this.#doubts.get(resource.name);
      if (doubt === undefined || doubt.earlier.includes(resource)) continue;
      if (doubt.version !== resource.version) {
        doubt.attempts = Math.min(doubt.attempts, 1);
        replaceVersion(doubt, resource);
      }
      doubt.state = "sent";
    }
    for (const name of removed) this.#remove(name);
    this.#changes++;
  }

  /** Records that a trial is sent. */
  tried(nonce: string, now: number): void {
    this.#inFlight.add(nonce);
    this.#budget.use(now);
  }

  /** Records that a trial was answered. */
  answered(nonce: string, accepted: boolean): void {
    if (!this.#inFlight.delete(nonce)) return;
    if (accepted) this.#budget.succeeded();
    else this.#budget.failed();
  }

  /**
   * Records that the client acknowledged a response.
   *
   * @param set the set that the response completes
   * @param later the responses after it that are unanswered
   */
  *accept(selection: Selection, set: ResourceSet, later: UnansweredResponses): Sliced<void> {
    const laterOf = later.finder();
    this.#hasGone = false;
    this.#resync = undefined;
    yield* this.#removals.accept(selection);
    let handled = 0;
    for (const [name, { state }] of this.#doubts) {
      if (++handled % sliceNames === 0) yield 0;
      if (state === "removed" && !set.has(name)) this.#doubts.delete(name);
    }
    if (this.#doubts.size === 0) return;
    for (const resource of selection.resources) {
      if (++handled % sliceNames === 0) yield 0;
      const doubt = this.#doubts.get(resource.name);
      if (doubt === undefined || doubt.state === "removed") continue;
      const isCurrent = doubt.version === resource.version && doubt.state !== "queued";
      if (isCurrent && laterOf(resource.name) === undefined) this.#doubts.delete(resource.name);
      else {
        doubt.accepted = resource;
        doubt.placeholder = undefined;
        doubt.earlier = doubt.earlier.filter((each) => each.version !== resource.version && later.carries(each));
      }
    }
    this.#changes++;
  }

  /** Records that a response was rejected that may have carried an earlier version of a resource alone. */
  rejectEarlier({ resources }: Selection): void {
    const [resource, ...others] = resources.slice(0, 2);
    const doubt = resource && this.#doubts.get(resource.name);
    if (resource === undefined || others.length > 0 || doubt?.earlier.includes(resource) !== true) return;
    dropEarlier(doubt, resource);
    if (doubt.earlier.length > 0) this.#earlier.add(resource.name);
  }

  /** Records that a resource does not exist any more: what the client has of it is not known, but not to be kept. */
  #remove(name: string): void {
    const doubt = this.#doubts.get(name);
    if (doubt === undefined) return;
    doubt.state = "removed";
    doubt.accepted = undefined;
    doubt.rejection = undefined;
  }

  /** Forgets a resource that the client does not subscribe to any more. */
  delete(name: string): void {
    this.#removals.unsubscribed(name);
    if (this.#doubts.delete(name)) this.#changes++;
  }

  /** Forgets what the client has: it starts over, without resources of the type. */
  forgetAccepted(): void {
    for (const doubt of this.#doubts.values()) doubt.accepted = doubt.placeholder = undefined;
    this.#removals.clear();
  }

  /** Returns the resources of a response without those that must not be sent now. */
  withhold(selection: Selection): Sliced<Selection> {
    return withhold(this.#doubts, selection);
  }

  /** Returns the full state for the client, with what it has in place of what must not be sent now. */
  substitute(selection: Selection): Sliced<Selection> {
    return substitute(this.#doubts, selection);
  }

  /**
   * Time from which `next` may return a trial; Infinity if there is none, or if all streams together leave no room for
   * it: the stream is woken then.
   */
  dueAt(now: number, maxInFlight: number): number {
    if (this.#inFlight.size >= maxInFlight) return Infinity;
    let at = this.#retryAt;
    if (this.#groups.length + this.#earlier.size > 0 || this.#resync !== undefined) at = Math.min(at, now);
    at = Math.min(at, this.#removals.dueAt);
    if (at !== Infinity && !this.#budget.allows(Math.max(now, at))) at = Math.max(at, this.#budget.allowedAt);
    return at > now || this.#budget.hasRoom ? at : Infinity;
  }

  /** Returns the content of the next trial; undefined if there is none. Call it only when `dueAt` has passed. */
  *next(now: number, isRemoved: (name: string) => boolean): Sliced<Trial | undefined> {
    const removed = this.#takeRemovals(now, isRemoved);
    if (removed.length > 0) return { resources: [], removed, shown: this.#removals.shown };
    if (now >= this.#retryAt) this.#queueRetries(now);
    for (let group = this.#groups.pop(); group !== undefined; group = this.#groups.pop()) {
      const resources = yield* filtered(group.resources, ({ name, version }) => {
        const doubt = this.#doubts.get(name);
        return doubt?.state === "queued" && doubt.version === version;
      });
      if (resources.length === 0) continue;
      this.#resync = undefined;
      return { resources, removed: [], shown: group.shown };
    }
    const resync = this.#resync;
    this.#resync = undefined;
    if (resync !== undefined) return { resources: [], removed: [], shown: resync };
    for (const name of this.#earlier) {
      this.#earlier.delete(name);
      const doubt = this.#doubts.get(name);
      const latest = doubt?.state === "rejected" ? doubt.earlier.at(-1) : undefined;
      if (latest !== undefined) return { resources: [latest], removed: [], shown: nothingShown };
    }
    return undefined;
  }

  /** Returns the due names to remove. A resource of that name which the client rejects is removed, too. */
  #takeRemovals(now: number, isRemoved: (name: string) => boolean): readonly string[] {
    return this.#removals.take(now, (name) => {
      if (isRemoved(name)) return true;
      const doubt = this.#doubts.get(name);
      if (doubt?.state !== "rejected") return false;
      doubt.accepted = undefined;
      return true;
    });
  }

  #queueRetries(now: number): void {
    this.#retryAt = Infinity;
    const due: Doubt[] = [];
    for (const doubt of this.#doubts.values()) {
      if (doubt.state !== "rejected") continue;
      const delay = doubt.retryAt - (doubt.rejection?.at ?? 0);
      if (doubt.retryAt - now > delay * togetherShare) this.#retryAt = Math.min(this.#retryAt, doubt.retryAt);
      else {
        doubt.state = "queued";
        due.push(doubt);
      }
    }
    if (due.length > 0) this.#groups.unshift({ resources: due.map(({ resource }) => resource), shown: merged(due) });
  }

  #doubtOf(resource: Resource, accepted: Resource | undefined): Doubt {
    this.#changes++;
    let doubt = this.#doubts.get(resource.name);
    if (doubt === undefined) {
      doubt = queuedDoubt(resource, accepted);
      this.#doubts.set(resource.name, doubt);
    } else if (doubt.version !== resource.version) replaceVersion(doubt, resource);
    return doubt;
  }
}

/** Returns the changes that several rejected responses showed. */
function merged(doubts: readonly Doubt[]): ShownChanges {
  const changes = [...new Set(doubts.flatMap(({ shown }) => shown.changes))].sort((a, b) => a - b);
  const revisions = doubts.flatMap(({ shown }) => shown.revision ?? []);
  return revisions.length === 0 ? { changes } : { changes, revision: Math.max(...revisions) };
}
