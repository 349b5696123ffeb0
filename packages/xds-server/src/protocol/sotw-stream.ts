import type { DiscoveryRequest } from "@istiod/envoy-api/envoy/service/discovery/v3/discovery";
import type { Selection } from "../wire/body-cache.js";
import { AdsStream } from "./ads-stream.js";
import type { TypeState } from "./type-state.js";
import { isFullStateType, isNamedType } from "./types.js";

/** The fields of a state-of-the-world request that the protocol needs. */
export type SotwRequest = Pick<DiscoveryRequest, "typeUrl" | "responseNonce" | "errorDetail" | "resourceNames">;

/** "The xDS transport protocol" in its state-of-the-world form. */
export class SotwStream extends AdsStream<SotwRequest> {
  readonly variant = "sotw";

  protected subscribe(type: TypeState, request: SotwRequest, first: boolean, stale: boolean): boolean {
    if (stale) return false;
    const names = new Set(request.resourceNames);
    const explicit = names.size > 0;
    const star = names.delete("*");
    const wildcard = star || (!explicit && !type.wasExplicit && !isNamedType(type.typeUrl));
    type.wasExplicit ||= explicit;
    // Without a nonce the client has nothing of this type, whatever was sent before.
    const anew = first || type.last === undefined || (request.responseNonce === "" && request.errorDetail === undefined);
    const before = type.names;
    for (const name of names) if (!before.has(name) && !(type.wildcard && type.known?.has(name))) type.resend.add(name);
    for (const name of before) {
      if (names.has(name)) continue;
      type.outside.delete(name);
      type.resend.delete(name);
    }
    type.names = names;
    if (anew || (wildcard && !type.wildcard)) {
      type.known = undefined;
      type.outside.clear();
      type.owed = wildcard || names.size > 0;
    }
    type.wildcard = wildcard;
    return type.owed || type.resend.size > 0;
  }

  protected project(type: TypeState, selection: Selection): Selection | undefined {
    if (isFullStateType(type.typeUrl) || type.wildcard) {
      const changed = selection.resources.length + selection.removed.length > 0;
      return changed || type.owed ? this.everything(type) : undefined;
    }
    if (selection.resources.length === 0) return undefined;
    return selection.removed.length === 0 ? selection : { resources: selection.resources, removed: [] };
  }
}
