import { WireError } from "@istiod/protobuf-wire";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import {
  DeltaDiscoveryRequestSchema,
  DeltaDiscoveryResponseSchema,
  DiscoveryRequestSchema,
  DiscoveryResponseSchema,
} from "@istiod/envoy-api/envoy/service/discovery/v3/discovery";
import { decodeResponse, encodeRequest, fakeResource, outlineResponse } from "@istiod/xds-server/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

const text = fc.string({ unit: "binary", maxLength: 200 }).filter((s) => Buffer.from(s).toString() === s);
const texts = fc.array(text, { maxLength: 20 });
const typeUrl = "type.googleapis.com/some.Type";

describe("a test client's request", () => {
  it("law: is decoded by protobuf to its content, in either variant", () => {
    const versions = fc.uniqueArray(fc.tuple(text, text), { selector: ([name]) => name, maxLength: 20 });
    fc.assert(
      fc.property(
        texts,
        texts,
        versions,
        text,
        text,
        fc.option(text, { nil: undefined }),
        fc.option(text, { nil: undefined }),
        (names, unsubscribe, initialVersions, nonce, version, error, id) => {
          const node = id === undefined ? undefined : toBinary(NodeSchema, create(NodeSchema, { id }));
          const request = { typeUrl, names, unsubscribe, initialVersions, nonce, version, error, node };
          const delta = fromBinary(DeltaDiscoveryRequestSchema, encodeRequest("delta", request));
          expect(delta).toMatchObject({
            typeUrl,
            resourceNamesSubscribe: names,
            resourceNamesUnsubscribe: unsubscribe,
            responseNonce: nonce,
          });
          expect(Object.entries(delta.initialResourceVersions).sort()).toEqual([...new Map(initialVersions)].sort());
          const sotw = fromBinary(DiscoveryRequestSchema, encodeRequest("sotw", request));
          expect(sotw).toMatchObject({ typeUrl, resourceNames: names, versionInfo: version, responseNonce: nonce });
          for (const message of [delta, sotw]) {
            expect(message.errorDetail?.message).toBe(error);
            expect(message.errorDetail?.code).toBe(error === undefined ? undefined : 13);
            expect(message.node?.id).toBe(id);
          }
        },
      ),
    );
  });
});

describe("a response decoded by a test client", () => {
  const resources = fc
    .array(fc.tuple(text, text), { maxLength: 10 })
    .map((list) => list.map(([name, content]) => fakeResource(name, content)));

  it("law: has the content that protobuf encoded, in either variant", () => {
    fc.assert(
      fc.property(resources, texts, text, text, (list, removedResources, nonce, version) => {
        const any = (value: Uint8Array) => ({ typeUrl, value });
        const delta = create(DeltaDiscoveryResponseSchema, {
          typeUrl,
          nonce,
          systemVersionInfo: version,
          removedResources,
          resources: list.map(({ name, version, bytes }) => ({ name, version, resource: any(bytes) })),
        });
        const sotw = create(DiscoveryResponseSchema, {
          typeUrl,
          nonce,
          versionInfo: version,
          resources: list.map(({ bytes }) => any(bytes)),
        });
        const withoutResources = {
          delta: toBinary(DeltaDiscoveryResponseSchema, { ...delta, resources: [] }),
          sotw: toBinary(DiscoveryResponseSchema, { ...sotw, resources: [] }),
        };
        for (const [variant, message] of [
          ["delta", toBinary(DeltaDiscoveryResponseSchema, delta)],
          ["sotw", toBinary(DiscoveryResponseSchema, sotw)],
        ] as const) {
          const read = decodeResponse(variant, message);
          expect(read).toMatchObject({
            typeUrl,
            nonce,
            version,
            bytes: message.length,
            removed: variant === "delta" ? removedResources : [],
          });
          const outline = outlineResponse(message);
          expect(outline).toMatchObject({
            typeUrl,
            nonce,
            version,
            resources: list.length,
            removed: read.removed.length,
          });
          expect(Buffer.concat(outline.content).length).toBe(message.length - Buffer.byteLength(nonce));
          expect(read.names).toEqual(list.map(({ name }) => name));
          const entryBytes = read.resources.reduce((sum, resource) => sum + resource.entryBytes, 0);
          expect(message.length - entryBytes).toBe(withoutResources[variant].length);
          for (const [i, resource] of read.resources.entries()) {
            expect(resource).toMatchObject({ typeUrl, version: variant === "delta" ? list[i]?.version : "" });
            expect(Buffer.compare(resource.bytes, list[i]?.bytes ?? new Uint8Array())).toBe(0);
          }
        }
      }),
    );
  });

  it("law: arbitrary bytes are a response or a WireError", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 100 }),
        fc.constantFrom("delta" as const, "sotw" as const),
        (bytes, variant) => {
          try {
            decodeResponse(variant, bytes);
          } catch (error) {
            expect(error).toBeInstanceOf(WireError);
          }
        },
      ),
    );
  });
});
