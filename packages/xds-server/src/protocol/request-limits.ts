import { Code, ConnectError } from "@connectrpc/connect";
import { maxNameBytes, type StreamLimits } from "../limits/stream-limits.js";
import type { ResourceSet } from "@istiod/resources";
import { sliceNames, type Sliced } from "../sliced.js";
import { nameList, versionList } from "../wire/names.js";
import type { XdsRequest } from "../wire/request.js";
import type { TypeState } from "./type-state.js";

type Types = ReadonlyMap<string, TypeState>;

/** Maximum length of a type URL in bytes. */
const maxTypeUrlBytes = 256;

/** Bytes of all names of a request that are too long. */
const maxLongNamesBytes = 1024 * 1024;

/**
 * Checks the size of a request's lists, before anything of it is decoded or kept.
 *
 * @throws ConnectError `ResourceExhausted` for a list that is too long, `InvalidArgument` for a type URL that is
 */
export function checkRequest(request: XdsRequest, { names }: Required<StreamLimits>): void {
  if (request.typeUrl.length > maxTypeUrlBytes)
    throw new ConnectError(`type URL longer than ${maxTypeUrlBytes} bytes`, Code.InvalidArgument);
  for (const list of [request.names, request.unsubscribe, request.initialVersions])
    if (list.size > names) throw tooMuch(`${list.size} resource names in a request, more than ${names}`);
}

/** A request, and the names that were removed from it because they are too long. */
export interface ShortenedRequest {
  readonly request: XdsRequest;
  readonly longNames: readonly string[];
}

/**
 * Removes the names from a request that are longer than those that are kept. Such a resource does not exist for the
 * client. It is not the client that is to blame: the name may stand in a resource that it was sent.
 *
 * @throws ConnectError `ResourceExhausted` if these names are too large
 */
export function* shorten(request: XdsRequest): Sliced<ShortenedRequest> {
  const { names, unsubscribe, initialVersions } = request;
  if (![names, unsubscribe, initialVersions].some((list) => list.size > 0 && list.longest > maxNameBytes))
    return { request, longNames: [] };
  const long = new LongNames();
  const shortNames: string[] = [];
  const shortUnsubscribe: string[] = [];
  const shortVersions: Record<string, string> = {};
  let handled = 0;
  for (const name of names) {
    if (++handled % sliceNames === 0) yield 0;
    if (!long.take(name)) shortNames.push(name);
  }
  for (const name of unsubscribe) {
    if (++handled % sliceNames === 0) yield 0;
    if (Buffer.byteLength(name) <= maxNameBytes) shortUnsubscribe.push(name);
  }
  for (const [name, version] of initialVersions) {
    if (++handled % sliceNames === 0) yield 0;
    if (!long.take(name)) shortVersions[name] = version;
  }
  const lists = {
    names: nameList(shortNames),
    unsubscribe: nameList(shortUnsubscribe),
    initialVersions: versionList(shortVersions),
  };
  return {
    request: Object.defineProperties(
      { ...lists, ...(names.size > 0 && { isExplicit: true }) } as XdsRequest,
      descriptorsWithout(request, Object.keys(lists)),
    ),
    longNames: long.names,
  };
}

/** Returns the descriptors of other properties, so that those that are computed on access still are. */
function descriptorsWithout(request: XdsRequest, names: readonly string[]): PropertyDescriptorMap {
  const all = Object.entries(Object.getOwnPropertyDescriptors(request));
  return Object.fromEntries(all.filter(([name]) => !names.includes(name)));
}

/** The names of a request that are too long. */
class LongNames {
  readonly names: string[] = [];
  #bytes = 0;

  /** Adds a name if it is too long. Reports whether it is. */
  take(name: string): boolean {
    const bytes = Buffer.byteLength(name);
    if (bytes <= maxNameBytes) return false;
    if ((this.#bytes += bytes) > maxLongNamesBytes)
      throw tooMuch(`more than ${maxLongNamesBytes} bytes of resource names longer than ${maxNameBytes} bytes`);
    this.names.push(name);
    return true;
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
