import type { DeltaDiscoveryRequest } from "@istiod/envoy-api/envoy/service/discovery/v3/discovery";
import type { Selection } from "../wire/body-cache.js";
import { AdsStream } from "./ads-stream.js";
import type { TypeState } from "./type-state.js";
import { isNamedType } from "./types.js";

/** The fields of a delta request that the protocol needs. */
export type DeltaRequest = Pick<
  DeltaDiscoveryRequest,
  "typeUrl" | "responseNonce" | "errorDetail" | "resourceNamesSubscribe" | "resourceNamesUnsubscribe" | "initialResourceVersions"
>;

/** "Incremental xDS" of the xDS protocol. */
export class DeltaStream extends AdsStream<DeltaRequest> {
  readonly variant = "delta";

  /** A stale nonce is no reason to disregard the subscription. */
  protected subscribe(type: TypeState, request: DeltaRequest, first: boolean): boolean {
    const subscribe = new Set(request.resourceNamesSubscribe);
    const unsubscribe = request.resourceNamesUnsubscribe;
    if (first) {
      const held = Object.entries(request.initialResourceVersions);
      if (held.length > 0) type.held = new Map(held);
      if (subscribe.size === 0 && unsubscribe.length === 0 && !isNamedType(type.typeUrl)) type.wildcard = true;
    }
    if (subscribe.size > 0) type.wasExplicit = true;
    if (subscribe.delete("*") && !type.wildcard && !unsubscribe.includes("*")) {
      type.wildcard = true;
      type.known = undefined;
      type.owed = true;
    }
    for (const name of subscribe) {
      type.names.add(name);
      type.resend.add(name);
    }
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

  protected project(_type: TypeState, selection: Selection): Selection | undefined {
    return selection.resources.length + selection.removed.length > 0 ? selection : undefined;
  }
}
