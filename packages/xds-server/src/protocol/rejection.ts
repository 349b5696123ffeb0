import { type Resource, ResourceSet } from "@istiod/resources";
import type { ShownChanges } from "../attribution.js";
import type { Rejection } from "../events.js";
import type { KnownRejections } from "../limits/known-rejections.js";
import { filtered, type Sliced } from "../sliced.js";
import { derive, halvesOf } from "./derived-lists.js";
import { Doubts, type TrialLimits } from "./doubts.js";
import { isCut, readMessage, reasonIn, type Verdict } from "./rejection-message.js";
import { differenceBetween, indexSet } from "./set-slices.js";
import type { TypeState } from "./type-state.js";
import type { SentResponse } from "./unanswered-responses.js";

/** A NACK. */
export interface ErrorDetail {
  readonly code: number;
  readonly message: string;
}

/** The properties of a stream that decide what follows from a rejection. */
export interface RejectionContext extends TrialLimits {
  readonly now: number;
  /** The versions that clients have rejected. */
  readonly rejections: KnownRejections;
  /** Reports whether responses of the type list the full state, of which only a part is new to the client. */
  readonly isFullState: boolean;
  /** Reports whether responses list removed resources. */
  readonly isIncremental: boolean;
  /** Reports whether what the response carried is sent again. */
  readonly isIsolated: boolean;
}

/** Resources of rejected responses that the client may have or not. */
interface Candidates {
  readonly resources: readonly Resource[];
  /** Those of their names in later, unanswered responses, whose answers decide on them. */
  readonly later: ReadonlyMap<string, Resource>;
  /** Those of which another version is in doubt by now. */
  readonly superseded: readonly Resource[];
  /** Number of resources that may be why the responses were rejected, also those that do not exist any more. */
  readonly suspects: number;
  /** Reports whether the responses carried resources that do not exist any more. */
  readonly hasGone: boolean;
}

/**
 * Records that a client rejected a response: none of its resources is known to be on the client. They are queued to be
 * sent again without those that the message names, or in halves if it names none. Returns the rejection.
 *
 * @param answered the rejected response, preceded by those that the client answered together with it; none if it is not
 *   remembered
 */
export function* reject(
  type: TypeState,
  nonce: string,
  { code, message }: ErrorDetail,
  answered: readonly SentResponse[],
  context: RejectionContext,
): Sliced<Rejection> {
  const response = answered.at(-1);
  const { now: at } = context;
  const nack = { nonce, version: response?.version ?? "", code, message, at };
  if (response === undefined || !type.subscribed || !context.isIsolated)
    return { ...nack, resources: [], versions: {}, reasons: {}, pending: [] };
  const { shown } = response;
  if (context.isIncremental && type.reconnected) type.acknowledged ??= yield* listedInitially(answered);
  const candidates = yield* candidatesOf(type, answered, context.isFullState);
  const placeholders = type.doubts?.placeholders() ?? noResources;
  const verdict = yield* verdictOn(candidates, message, placeholders);
  const doubts = (type.doubts ??= new Doubts(context));
  for (const { selection } of answered) doubts.rejectEarlier(selection);
  if (context.isIncremental && candidates.suspects > 1) doubts.noteEarlier(candidates.superseded, verdict.invalid);
  const step: Step = { type, doubts, candidates, verdict, placeholders, context };
  recordCandidates(step, { nonce, code, shown });
  const unnamed = yield* unnamedOf(step);
  const hasOthers = listsAll(verdict, message, placeholders) && doubts.placeholders().size > 0;
  if (hasOthers) yield* acceptOthers(type, doubts, response, verdict);
  else yield* queueAgain(step, unnamed, answered, shown);
  if (doubts.isEmpty) type.doubts = undefined;
  return {
    ...nack,
    ...rejectedOf(step),
    get pending() {
      return hasOthers ? [] : unnamed.map(({ name }) => name);
    },
    ...(shown.revision !== undefined && { revision: shown.revision }),
  };
}

/** The state of a type after a rejection, with what follows from the message. */
interface Step {
  readonly type: TypeState;
  readonly doubts: Doubts;
  readonly candidates: Candidates;
  readonly verdict: Verdict;
  /** Rejected versions that held the places of resources in the response. */
  readonly placeholders: ReadonlyMap<string, Resource>;
  readonly context: RejectionContext;
}

function acceptedBy({ type, doubts }: Step): (name: string) => Resource | undefined {
  return (name) => doubts.get(name)?.accepted ?? type.acknowledged?.get(name);
}

/** Records the candidates that the message names, and those that a later response carries, too. */
function recordCandidates(
  step: Step,
  { nonce, code, shown }: { readonly nonce: string; readonly code: number; readonly shown: ShownChanges },
): void {
  const { type, doubts, candidates, verdict, placeholders, context } = step;
  const acceptedOf = acceptedBy(step);
  const mayHold = context.isFullState && verdict.isList === true && type.mayKeepUnknown;
  if (placeholders.size > 0 && verdict.invalid.size === 0) doubts.dropPlaceholders();
  for (const resource of candidates.resources) {
    const { name, version } = resource;
    const next = candidates.later.get(name);
    const reason = verdict.invalid.get(name);
    if (reason !== undefined) context.rejections.add(type.typeUrl, resource);
    if (next !== undefined)
      doubts.await(resource, next, acceptedOf(name), reason === undefined && context.isIncremental);
    else if (reason !== undefined)
      doubts.reject(resource, acceptedOf(name), { version, reason, code, nonce, at: context.now }, shown);
    if (mayHold && reason !== undefined && (type.acknowledged === undefined || placeholders.has(name)))
      doubts.hold(resource);
  }
}

/** Returns the candidates that the message does not name. */
function* unnamedOf({ candidates, verdict }: Step): Sliced<readonly Resource[]> {
  const { resources } = candidates;
  const isNamed = verdict.invalid.size > 0 && resources.some(({ name }) => verdict.invalid.has(name));
  return isNamed ? yield* without(resources, verdict.invalid) : resources;
}

/** Queues the candidates that the message does not name and the removals to be sent again. */
function* queueAgain(
  step: Step,
  unnamed: readonly Resource[],
  answered: readonly SentResponse[],
  shown: ShownChanges,
): Sliced<void> {
  const { type, doubts, candidates, verdict, context } = step;
  const { later, resources, hasGone } = candidates;
  const rest = later.size === 0 ? unnamed : yield* filtered(unnamed, ({ name }) => !later.has(name));
  const wasRejected = context.rejections.finder(type.typeUrl);
  for (const group of yield* groupsOf(rest, verdict, wasRejected)) yield* doubts.queue(group, acceptedBy(step), shown);
  const removed = answered.flatMap(({ selection, set }) => (set === undefined ? [] : selection.removed));
  if (context.isIncremental) doubts.queueRemovals(removed, shown, resources.length === 0, context.now);
  if (!context.isFullState) return;
  if (hasGone) doubts.noteGone();
  if (doubts.hasGone || (resources.length > 0 && (yield* lacksAccepted(type)))) doubts.queueFullState(shown);
}

/** Returns the names of rejected resources, with their versions and reasons. */
function rejectedOf({
  candidates,
  verdict,
  placeholders,
}: Step): Pick<Rejection, "resources" | "versions" | "reasons"> {
  const suspects = verdict.invalid.size === 0 ? [] : [...candidates.resources, ...placeholders.values()];
  const rejected = suspects.filter(({ name }) => verdict.invalid.has(name));
  const named = new Map(rejected.map((resource) => [resource.name, resource]));
  return {
    resources: [...named.keys()],
    versions: Object.fromEntries(Array.from(named.values(), ({ name, version }) => [name, version])),
    reasons: Object.fromEntries(Array.from(named.keys(), (name) => [name, verdict.invalid.get(name) ?? ""])),
  };
}

/**
 * Reports whether a message lists all invalid resources of its response. Those that hold places come last: if a cut
 * message lists only them, there are no others.
 */
function listsAll({ invalid, isList }: Verdict, message: string, placeholders: ReadonlyMap<string, Resource>): boolean {
  if (isList !== true) return false;
  return !isCut(message) || [...invalid.keys()].every((name) => placeholders.has(name));
}

/**
 * Records that the client has the resources of a rejected full state apart from the invalid ones. It is not sent again
 * without them, because the client would remove what it has in their place.
 */
function* acceptOthers(type: TypeState, doubts: Doubts, response: SentResponse, verdict: Verdict): Sliced<void> {
  const { selection, set } = response;
  if (set === undefined) return;
  const resources = yield* filtered(selection.resources, ({ name }) => !verdict.invalid.has(name));
  yield* doubts.accept({ resources, removed: [] }, set, type.unanswered);
  type.acknowledged = set;
}

/** Returns the resources that the first response did not carry, because the client listed their versions. */
function* listedInitially([first]: readonly SentResponse[]): Sliced<ResourceSet | undefined> {
  if (first?.set === undefined || first.selection.whole !== undefined) return undefined;
  const carried = new Set(namesOf(first.selection.resources));
  return ResourceSet.of(yield* filtered(first.set.toArray(), ({ name }) => !carried.has(name)));
}

/** Returns the resources of rejected responses that the client does not have for certain. */
function* candidatesOf(type: TypeState, answered: readonly SentResponse[], isFullState: boolean): Sliced<Candidates> {
  const { acknowledged, known, outside } = type;
  if (acknowledged !== undefined) yield* indexSet(acknowledged);
  if (known !== undefined) yield* indexSet(known);
  const inLater = type.unanswered.finder();
  const later = new Map<string, Resource>();
  let suspects = 0;
  let hasGone = false;
  const superseded: Resource[] = [];
  const isCandidate = (resource: Resource): boolean => {
    const { name, version } = resource;
    const doubt = type.doubts?.get(name);
    if (doubt === undefined && isFullState && acknowledged?.get(name)?.version === version) return false;
    suspects++;
    if (!type.covers(name) || (known?.has(name) !== true && outside.get(name) === undefined)) {
      hasGone = true;
      return false;
    }
    if (doubt !== undefined && doubt.version !== version) superseded.push(resource);
    if (doubt !== undefined && (doubt.state !== "sent" || doubt.version !== version)) return false;
    const next = inLater(name);
    if (next !== undefined) later.set(name, next);
    return true;
  };
  const lists: (readonly Resource[])[] = [];
  for (const { selection, set } of answered) {
    if (set === undefined) continue;
    const carried = selection.whole === undefined ? selection.resources : yield* derive(selection, "all", itself);
    lists.push(yield* filtered(carried, isCandidate));
  }
  const [first = []] = lists;
  return { resources: lists.length > 1 ? latest(lists) : first, later, superseded, suspects, hasGone };
}

const itself = (resource: Resource): Resource => resource;

/** Merges lists. Of the versions of a resource, the latest is kept. */
function latest(lists: readonly (readonly Resource[])[]): readonly Resource[] {
  const merged = new Map<string, Resource>();
  for (const list of lists) for (const resource of list) merged.set(resource.name, resource);
  return [...merged.values()];
}

/** Decides which resources are invalid. A resource is that was alone in its response. */
function* verdictOn(
  { resources, superseded, suspects }: Candidates,
  message: string,
  placeholders: ReadonlyMap<string, Resource>,
): Sliced<Verdict> {
  const [only] = resources;
  const others = superseded.length + placeholders.size === 0 ? [] : [...superseded, ...placeholders.values()];
  const names = others.length === 0 ? namesOf(resources) : new Set(namesOf([...resources, ...others]));
  const verdict = yield* readMessage(message, names);
  if (only === undefined || suspects !== 1 || verdict.invalid.size > 0) return verdict;
  return { invalid: new Map([[only.name, reasonIn(message)]]), mentioned: [] };
}

/** Reports whether the client may have resources that its full state lacks by now. */
function* lacksAccepted({ acknowledged, known }: TypeState): Sliced<boolean> {
  if (known === undefined || acknowledged === known) return false;
  if (acknowledged === undefined) return true;
  return (yield* differenceBetween(acknowledged, known)).removed.length > 0;
}

function* namesOf(resources: readonly Resource[]): Generator<string> {
  for (const { name } of resources) yield name;
}

/**
 * Returns the groups in which resources are sent again. The last group is sent first.
 *
 * @param wasRejected reports whether another client rejected a resource; undefined if none did
 */
function* groupsOf(
  rest: readonly Resource[],
  { invalid, mentioned }: Verdict,
  wasRejected: ((resource: Resource) => boolean) | undefined,
): Sliced<readonly (readonly Resource[])[]> {
  if (rest.length < 2 || invalid.size > 0) return [rest];
  const suspects = new Set(mentioned);
  const isSuspect = (resource: Resource): boolean => suspects.has(resource.name) || wasRejected?.(resource) === true;
  const suspected = suspects.size === 0 && wasRejected === undefined ? [] : yield* filtered(rest, isSuspect);
  if (suspected.length === 0 || suspected.length === rest.length) return halvesOf(rest).toReversed();
  const names = new Map(suspected.map(({ name }) => [name, ""]));
  return [suspected, yield* without(rest, names)];
}

function without(resources: readonly Resource[], names: ReadonlyMap<string, string>): Sliced<readonly Resource[]> {
  const key = names.size > maxShared ? undefined : `without ${[...names.keys()].sort().join("\n")}`;
  return derive({ resources, removed: [] }, key, (resource) => (names.has(resource.name) ? undefined : resource));
}

const noResources: ReadonlyMap<string, Resource> = new Map();

/** Number of resources up to which lists without them are shared. */
const maxShared = 64;
