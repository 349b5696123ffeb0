import { Code, ConnectError } from "@connectrpc/connect";
import { maxNameBytes, type StreamLimits } from "../limits/stream-limits.js";
import type { ResourceSet } from "@istiod/resources";
import type { Sliced } from "../sliced.js";
import type { XdsRequest } from "../wire/request.js";
import type { TypeState } from "./type-state.js";

type Types = ReadonlyMap<string, TypeState>;

/** Maximum length of a type URL in bytes. */
const maxTypeUrlBytes = 256;

/**
 * Checks the size of a request's lists, before anything of it is decoded or kept.
 *
 * @throws ConnectError `ResourceExhausted` for a list that is too long, `InvalidArgument` for a name that is too long
 */
export function checkRequest(request: XdsRequest, { names }: Required<StreamLimits>): void {
  if (request.typeUrl.length > maxTypeUrlBytes)
    throw new ConnectError(`type URL longer than ${maxTypeUrlBytes} bytes`, Code.InvalidArgument);
  for (const list of [request.names, request.unsubscribe, request.initialVersions]) {
    if (list.size === 0) continue;
    if (list.size > names) throw tooMuch(`${list.size} resource names in a request, more than ${names}`);
    if (list.longest > maxNameBytes)
      throw new ConnectError(`resource name longer than ${maxNameBytes} bytes`, Code.InvalidArgument);
  }
}

/**
 * Checks the subscriptions of a stream after names were added.
 *
 * @param before estimated size of the type's names before
 * @param currentSet returns the current set of the type
 * @throws ConnectError `ResourceExhausted`
 */
export function* checkNames(
  types: Types,
  type: TypeState,
  before: number,
  limits: Required<StreamLimits>,
  currentSet: () => ResourceSet | undefined,
): Sliced<void> {
  let count = 0;
  for (const each of types.values()) count += each.names.size;
  if (count > limits.names) throw tooMuch(`more than ${limits.names} resource names`);
  if (type.unmatchedBytes <= before || unmatchedBytesOf(types) <= limits.unmatchedBytes) return;
  // Most of the names may be in a set that is newer than the one that was sent.
  const set = currentSet();
  if (set !== undefined) yield* type.names.adaptTo(set);
  checkBytes(types, limits);
}

/** @throws ConnectError `ResourceExhausted` if the names that only this stream has are too large */
export function checkBytes(types: Types, { unmatchedBytes }: Required<StreamLimits>): void {
  if (unmatchedBytesOf(types) > unmatchedBytes)
    throw tooMuch(`more than ${unmatchedBytes} bytes of resource names without a resource in the client's sets`);
}

/** Returns the estimated size in bytes of the names that only one stream has, with their resources. */
export function unmatchedBytesOf(types: Types): number {
  let bytes = 0;
  for (const type of types.values()) bytes += type.unmatchedBytes;
  return bytes;
}

/** Returns the error of a stream that exceeds a limit. */
export function tooMuch(what: string): ConnectError {
  return new ConnectError(what, Code.ResourceExhausted);
}
