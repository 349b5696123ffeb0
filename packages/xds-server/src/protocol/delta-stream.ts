import { countOf, type Selection } from "../wire/body-cache.js";
import type { XdsRequest } from "../wire/request.js";
import { AdsStream } from "./ads-stream.js";
import type { TypeState } from "./type-state.js";
import { isNamedType } from "./types.js";

/** "Incremental xDS" of the xDS protocol. */
export class DeltaStream extends AdsStream {
  readonly variant = "delta";

  /** A stale nonce is no reason to disregard the subscription. */
  protected subscribe(type: TypeState, request: XdsRequest, first: boolean): boolean {
    const unsubscribe = [...request.unsubscribe];
    if (first) this.#begin(type, request, unsubscribe);
    else if (request.names.size > 0) this.#add(type, request.names, unsubscribe);
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
    type.held = this.versionsIn(type, initialVersions);
    type.wasExplicit = names.size > 0;
    if (names.size === 0 && unsubscribe.length === 0 && !isNamedType(type.typeUrl)) type.wildcard = true;
    type.names = this.namesIn(type, names);
    if (type.names.delete("*")) type.wildcard = true;
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
