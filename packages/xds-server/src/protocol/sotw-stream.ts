import { xdsType } from "@istiod/resources";
import { countOf, type Selection } from "../wire/body-cache.js";
import { isExplicit, type XdsRequest } from "../wire/request.js";
import { AdsStream, type StreamOptions } from "./ads-stream.js";
import type { UncertainResources } from "./doubt-memory.js";
import { nothingUncertain } from "./uncertain-resources.js";
import { everything } from "./selection.js";
import { indexSet } from "./set-slices.js";
import { sliceNames, type Sliced } from "../sliced.js";
import type { TrialRules } from "./trials.js";
import type { TypeState } from "./type-state.js";

/** A client may answer several responses at once. */
const trialRules: TrialRules = { maxTrials: 1, mayTry: ({ unanswered }) => unanswered.size === 0 };

/** The state-of-the-world variant of the xDS transport protocol. */
export class SotwStream extends AdsStream {
  readonly variant = "sotw";

  constructor(options: StreamOptions) {
    super(options, trialRules);
  }

  protected *subscribe(type: TypeState, request: XdsRequest, first: boolean, stale: boolean): Sliced<boolean> {
    if (stale) {
      yield* this.#noteDropped(type, request);
      return false;
    }
    // A request without a nonce starts over: the client has no resources of this type.
    const initial =
      first || type.last === undefined || (request.responseNonce === "" && request.errorDetail === undefined);
    const isFirstExplicit = !type.wasExplicit && isExplicit(request);
    if (type.listed === undefined || isFirstExplicit || !request.names.digest.equals(type.listed))
      yield* this.#replaceNames(type, request);
    if (initial) {
      type.known = undefined;
      type.acknowledged = undefined;
      type.mayKeepUnknown = request.hasVersion === true && this.isFullState(type);
      type.unanswered.void();
      type.doubts?.forgetAccepted();
      type.outside.clear();
      // A full state without resources says that names that are too long do not exist.
      type.mustRespond = type.subscribed || (isExplicit(request) && this.isFullState(type));
    }
    return type.mustRespond || type.resend.size > 0;
  }

  /**
   * Marks names to be sent again that a stale request lacks: the client drops their resources, also if it subscribes to
   * them again before it answers.
   */
  *#noteDropped(type: TypeState, { names: list }: XdsRequest): Sliced<void> {
    if (type.listed === undefined || list.digest.equals(type.listed)) return;
    const names = yield* this.lists.names(type, list);
    let handled = 0;
    for (const name of type.names) {
      if (++handled % sliceNames === 0) yield 0;
      if (!names.has(name)) type.resend.add(name);
    }
  }

  *#replaceNames(type: TypeState, request: XdsRequest): Sliced<void> {
    const { names: list } = request;
    type.listed = list.digest;
    const explicit = isExplicit(request);
    const before = type.names;
    const wasWildcard = type.wildcard;
    type.names = yield* this.lists.names(type, list);
    type.wildcard =
      type.names.delete("*") || (!explicit && !type.wasExplicit && xdsType(type.typeUrl)?.subscription !== "named");
    type.wasExplicit ||= explicit;
    if (wasWildcard && type.known !== undefined) yield* indexSet(type.known);
    let handled = 0;
    for (const name of type.names) {
      if (++handled % sliceNames === 0) yield 0;
      if (!before.has(name) && !(wasWildcard && type.known?.has(name))) type.resend.add(name);
    }
    for (const name of before) {
      if (++handled % sliceNames === 0) yield 0;
      if (type.names.has(name)) continue;
      this.unsubscribed(type, name);
      type.resend.delete(name);
    }
    if (type.wildcard && !wasWildcard) {
      type.known = undefined;
      type.mustRespond = true;
    }
  }

  protected isFullState(type: TypeState): boolean {
    return xdsType(type.typeUrl)?.fullState === true || type.wildcard;
  }

  /** Full states remove what they lack. */
  protected override uncertainOf(): UncertainResources {
    return nothingUncertain;
  }

  protected *project(type: TypeState, selection: Selection): Sliced<Selection | undefined> {
    if (this.isFullState(type)) {
      const changed = countOf(selection) + selection.removed.length > 0;
      if (!changed && !type.mustRespond) return undefined;
      const all = yield* everything(type);
      return type.doubts === undefined ? all : yield* type.doubts.substitute(all);
    }
    if (countOf(selection) === 0) return undefined;
    return selection.removed.length === 0 ? selection : { resources: selection.resources, removed: [] };
  }
}
