import { countOf, type Selection } from "../wire/body-cache.js";
import type { XdsRequest } from "../wire/request.js";
import { AdsStream } from "./ads-stream.js";
import type { TypeState } from "./type-state.js";
import { clusterType, endpointType, isNamedType, listenerType } from "./types.js";

/** "Incremental xDS" of the xDS protocol. */
export class DeltaStream extends AdsStream {
  readonly variant = "delta";
  /** Endpoints of which the client said what it holds, until it answered the first response. */
  #believed: TypeState | undefined;

  /** A stale nonce is no reason to disregard the subscription. */
  protected subscribe(type: TypeState, request: XdsRequest, first: boolean): boolean {
    const unsubscribe = [...request.unsubscribe];
    if (first) this.#begin(type, request, unsubscribe);
    else if (request.names.size > 0) this.#add(type, request.names, unsubscribe);
    if (type === this.#believed && request.responseNonce !== "") this.#doubt(type);
    for (const name of unsubscribe) {
      if (name === "*") type.wildcard = false;
      else if (type.names.delete(name)) {
        type.outside.delete(name);
        type.resend.delete(name);
        // The client cannot know whether the wildcard has it as well.
        if (type.wildcard && type.known !== undefined) type.resend.add(name);
      }
    }
    if (first && type.subscribed) type.owed = true;
    return type.owed || type.resend.size > 0;
  }

  #begin(type: TypeState, { names, initialVersions }: XdsRequest, unsubscribe: readonly string[]): void {
    type.held = this.#warming(type) ? undefined : this.versionsIn(type, initialVersions);
    if (type.typeUrl === endpointType && type.held !== undefined) this.#believed = type;
    type.wasExplicit = names.size > 0;
    if (names.size === 0 && unsubscribe.length === 0 && !isNamedType(type.typeUrl)) type.wildcard = true;
    type.names = this.namesIn(type, names);
    if (type.names.delete("*")) type.wildcard = true;
  }

  /**
   * Whether endpoints are asked for by a client that may hold them and waits for them all the same. While clusters warm, Envoy
   * holds back every request for clusters, so that its endpoints come first on a new stream; otherwise clusters do.
   */
  #warming({ typeUrl }: TypeState): boolean {
    return typeUrl === endpointType && !this.types.has(clusterType);
  }

  /**
   * While Envoy starts it holds nothing back, but does not ask for listeners either; what it asks for on a new stream, it asks
   * for before it answers anything. If listeners are not among it, clusters may wait for the endpoints that were not sent.
   */
  #doubt(endpoints: TypeState): void {
    this.#believed = undefined;
    if (this.types.has(listenerType) || !endpoints.subscribed) return;
    endpoints.known = undefined;
    endpoints.owed = true;
  }

  #add(type: TypeState, names: Iterable<string>, unsubscribe: readonly string[]): void {
    type.wasExplicit = true;
    for (const name of names) {
      if (name !== "*") {
        type.names.add(name);
        type.resend.add(name);
      } else if (!type.wildcard && !unsubscribe.includes("*")) {
        type.wildcard = true;
        type.known = undefined;
        type.owed = true;
      }
    }
  }

  protected project(_type: TypeState, selection: Selection): Selection | undefined {
    return countOf(selection) + selection.removed.length > 0 ? selection : undefined;
  }
}
