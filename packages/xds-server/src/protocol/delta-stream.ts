import { clusterType, endpointType, listenerType, xdsType } from "@istiod/resources";
import { countOf, type Selection } from "../wire/body-cache.js";
import { isExplicit, type XdsRequest } from "../wire/request.js";
import type { NameList } from "../wire/names.js";
import { AdsStream, type StreamOptions } from "./ads-stream.js";
import { completed, includes, sliceNames, type Sliced } from "../sliced.js";
import type { TrialRules } from "./trials.js";
import type { TypeState } from "./type-state.js";

const trialRules: TrialRules = { maxTrials: 4, mayTry: () => true };

/** The incremental variant of the xDS transport protocol. */
export class DeltaStream extends AdsStream {
  readonly variant = "delta";
  /** Endpoint subscription with initial versions, until the client answers its first response. */
  #unconfirmed: TypeState | undefined;

  constructor(options: StreamOptions) {
    super(options, trialRules);
  }

  /** Applies the subscription even if the nonce is stale, as the protocol requires for delta. */
  protected *subscribe(type: TypeState, request: XdsRequest, first: boolean): Sliced<boolean> {
    const { unsubscribe } = request;
    let handled = 0;
    if (first) yield* this.#start(type, request);
    else if (isExplicit(request)) yield* this.#subscribeTo(type, request.names, unsubscribe);
    if (type === this.#unconfirmed && request.responseNonce !== "") this.#resendIfStarting(type);
    for (const name of unsubscribe) {
      if (++handled % sliceNames === 0) yield 0;
      if (name === "*") type.wildcard = false;
      else if (type.names.delete(name)) {
        this.unsubscribed(type, name);
        type.resend.delete(name);
        // The client does not know whether the wildcard subscription includes the resource.
        if (type.wildcard && type.known !== undefined) type.resend.add(name);
      }
    }
    if (first && type.subscribed) type.mustRespond = true;
    return type.mustRespond || type.resend.size > 0;
  }

  *#start(type: TypeState, request: XdsRequest): Sliced<void> {
    const { names, unsubscribe, initialVersions } = request;
    type.initialVersions = this.#isWarming(type) ? undefined : yield* this.lists.versions(type, initialVersions);
    if (type.typeUrl === endpointType && type.initialVersions !== undefined) this.#unconfirmed = type;
    type.wasExplicit = isExplicit(request);
    if (!type.wasExplicit && unsubscribe.size === 0 && xdsType(type.typeUrl)?.subscription !== "named")
      type.wildcard = true;
    type.names = yield* this.lists.names(type, names);
    if (type.names.delete("*")) type.wildcard = true;
  }

  /**
   * Reports whether the client requests endpoints that it waits for even if it has them. While clusters are warming,
   * Envoy withholds requests for clusters, so that endpoints are the first request on a new stream; otherwise clusters
   * are. A client that has endpoints and states no versions of clusters has clusters of a rejected response, and waits
   * for endpoints if they are updated.
   */
  #isWarming({ typeUrl }: TypeState): boolean {
    if (typeUrl !== endpointType) return false;
    const clusters = this.types.get(clusterType);
    return clusters === undefined || (clusters.initialVersions === undefined && !clusters.reconnected);
  }

  /**
   * Sends all endpoints if the client is still starting up: then Envoy withholds no requests, but does not request
   * listeners either, and clusters may be waiting for endpoints that were skipped. All initial requests precede the
   * first ACK on a stream.
   */
  #resendIfStarting(endpoints: TypeState): void {
    this.#unconfirmed = undefined;
    if (this.types.has(listenerType) || !endpoints.subscribed) return;
    endpoints.known = undefined;
    endpoints.mustRespond = true;
  }

  *#subscribeTo(type: TypeState, names: NameList, unsubscribe: NameList): Sliced<void> {
    type.wasExplicit = true;
    let everything = false;
    let handled = 0;
    for (const name of names) {
      if (++handled % sliceNames === 0) yield 0;
      if (name !== "*") {
        type.names.add(name);
        type.resend.add(name);
        if (this.lists.hasTooMany(type)) yield* this.lists.check(type);
      } else everything = true;
    }
    if (!everything || type.wildcard || (yield* includes(unsubscribe, "*"))) return;
    type.wildcard = true;
    type.known = undefined;
    type.mustRespond = true;
  }

  protected isFullState(): boolean {
    return false;
  }

  protected project(type: TypeState, selection: Selection): Sliced<Selection | undefined> {
    const removed = xdsType(type.typeUrl)?.keepsAbsent === true ? [] : selection.removed;
    if (countOf(selection) + removed.length === 0) return completed(undefined);
    return completed(removed.length === selection.removed.length ? selection : withRemoved(selection, removed));
  }
}

function withRemoved(selection: Selection, removed: readonly string[]): Selection {
  return selection.whole === undefined
    ? { resources: selection.resources, removed }
    : { resources: selection.resources, removed, whole: selection.whole };
}
