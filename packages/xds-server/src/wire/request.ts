import { fromBinary } from "@bufbuild/protobuf";
import { NodeSchema, type Node } from "@istiod/envoy-api/envoy/config/core/v3/base";
import type { DeltaDiscoveryRequest, DiscoveryRequest } from "@istiod/envoy-api/envoy/service/discovery/v3/discovery";
import type { Variant } from "../events.js";
import { Digest, viewOf } from "./digest.js";
import { Reader } from "./reader.js";
import { nameList, noNames, noVersions, versionList, type NameList, type VersionList } from "./names.js";

/** A `DiscoveryRequest` or `DeltaDiscoveryRequest`: what they share, and an empty list for what the variant lacks. */
export interface XdsRequest {
  readonly node: Node | undefined;
  readonly typeUrl: string;
  readonly responseNonce: string;
  readonly errorDetail: { readonly code: number; readonly message: string } | undefined;
  /** State-of-the-world: all names; delta: those to add. */
  readonly names: NameList;
  /** Delta: names to take away. */
  readonly unsubscribe: NameList;
  /** Delta: what the client had when it connected. */
  readonly initialVersions: VersionList;
}

/** A decoded message of either variant as a request. */
export function requestOf(message: DeltaDiscoveryRequest | DiscoveryRequest): XdsRequest {
  const { node, typeUrl, responseNonce, errorDetail } = message;
  const lists =
    message.$typeName === "envoy.service.discovery.v3.DiscoveryRequest"
      ? { names: nameList(message.resourceNames), unsubscribe: noNames, initialVersions: noVersions }
      : {
          names: nameList(message.resourceNamesSubscribe),
          unsubscribe: nameList(message.resourceNamesUnsubscribe),
          initialVersions: versionList(message.initialResourceVersions),
        };
  return { node, typeUrl, responseNonce, errorDetail, ...lists };
}

const fields = {
  delta: { node: 1, typeUrl: 2, names: 3, unsubscribe: 4, initialVersions: 5, responseNonce: 6, errorDetail: 7 },
  sotw: { node: 2, typeUrl: 4, names: 3, unsubscribe: -1, initialVersions: -1, responseNonce: 5, errorDetail: 6 },
} as const;

/**
 * Decodes a request, but makes strings of its lists only when somebody asks: a proxy that returns lists thousands of names and versions,
 * and it is mostly enough to know whether they are those of a set. The lists are read where they are: who needs them after the bytes are
 * used for something else must copy (`kept`).
 *
 * @throws RangeError for bytes that are not a message
 */
export function decodeRequest(variant: Variant, bytes: Buffer): XdsRequest {
  const numbers = fields[variant];
  let node: Node | undefined;
  let typeUrl = "";
  let responseNonce = "";
  let errorDetail: XdsRequest["errorDetail"];
  const names: number[] = [];
  const unsubscribe: number[] = [];
  const versions: number[] = [];
  const reader = new Reader(bytes, 0, bytes.length);
  while (reader.next()) {
    const { field, from, to } = reader;
    if (!reader.delimited) continue;
    if (field === numbers.names) names.push(from, to);
    else if (field === numbers.initialVersions) versions.push(from, to);
    else if (field === numbers.unsubscribe) unsubscribe.push(from, to);
    else if (field === numbers.typeUrl) typeUrl = bytes.toString("utf8", from, to);
    else if (field === numbers.responseNonce) responseNonce = bytes.toString("utf8", from, to);
    // Copied: unknown fields that a message keeps are views of the bytes that it was read from.
    else if (field === numbers.node) node = fromBinary(NodeSchema, Uint8Array.prototype.slice.call(bytes, from, to));
    else if (field === numbers.errorDetail) errorDetail = decodeStatus(bytes, from, to);
  }
  return {
    node,
    typeUrl,
    responseNonce,
    errorDetail,
    names: names.length === 0 ? noNames : new EncodedNames(bytes, names),
    unsubscribe: unsubscribe.length === 0 ? noNames : new EncodedNames(bytes, unsubscribe),
    initialVersions: versions.length === 0 ? noVersions : new EncodedVersions(bytes, versions),
  };
}

function decodeStatus(bytes: Buffer, from: number, to: number): { code: number; message: string } {
  let code = 0;
  let message = "";
  const reader = new Reader(bytes, from, to);
  while (reader.next()) {
    if (reader.field === 1 && !reader.delimited) code = reader.value;
    else if (reader.field === 2 && reader.delimited) message = bytes.toString("utf8", reader.from, reader.to);
  }
  return { code, message };
}

class EncodedNames implements NameList {
  readonly #bytes: Buffer;
  readonly #ranges: readonly number[];
  #digest: Digest | undefined;

  /** @param ranges start and end of each name, in turn */
  constructor(bytes: Buffer, ranges: readonly number[]) {
    this.#bytes = bytes;
    this.#ranges = ranges;
  }

  get size(): number {
    return this.#ranges.length / 2;
  }

  get digest(): Digest {
    if (this.#digest !== undefined) return this.#digest;
    const digest = new Digest();
    const view = viewOf(this.#bytes);
    for (let i = 0; i < this.#ranges.length; i += 2) {
      digest.addRange(view, this.#ranges[i] as number, this.#ranges[i + 1] as number);
    }
    return (this.#digest = digest);
  }

  *[Symbol.iterator](): Iterator<string> {
    for (let i = 0; i < this.#ranges.length; i += 2) yield this.#bytes.toString("utf8", this.#ranges[i], this.#ranges[i + 1]);
  }
}

class EncodedVersions implements VersionList {
  readonly digest: Digest;
  readonly #bytes: Buffer;
  readonly #ranges: readonly number[];

  /** @param ranges start and end of each map entry, in turn */
  constructor(bytes: Buffer, ranges: readonly number[], digest?: Digest) {
    this.#bytes = bytes;
    this.#ranges = ranges;
    this.digest = digest ?? new Digest();
    if (digest !== undefined) return;
    const view = viewOf(bytes);
    this.#each((name, nameEnd, version, versionEnd) => this.digest.addRanges(view, name, nameEnd, version, versionEnd));
  }

  get size(): number {
    return this.#ranges.length / 2;
  }

  kept(): VersionList {
    return new EncodedVersions(Buffer.from(this.#bytes), this.#ranges, this.digest);
  }

  *[Symbol.iterator](): Iterator<readonly [string, string]> {
    const entries: [string, string][] = [];
    this.#each((name, nameEnd, version, versionEnd) => {
      entries.push([this.#bytes.toString("utf8", name, nameEnd), this.#bytes.toString("utf8", version, versionEnd)]);
    });
    yield* entries;
  }

  #each(visit: (name: number, nameEnd: number, version: number, versionEnd: number) => void): void {
    const reader = new Reader(this.#bytes, 0, 0);
    for (let i = 0; i < this.#ranges.length; i += 2) {
      reader.reset(this.#ranges[i] as number, this.#ranges[i + 1] as number);
      let name = 0;
      let nameEnd = 0;
      let version = 0;
      let versionEnd = 0;
      while (reader.next()) {
        if (reader.field === 1 && reader.delimited) {
          name = reader.from;
          nameEnd = reader.to;
        } else if (reader.field === 2 && reader.delimited) {
          version = reader.from;
          versionEnd = reader.to;
        }
      }
      visit(name, nameEnd, version, versionEnd);
    }
  }
}
