import { hash } from "node:crypto";
import { clusterType, endpointType, routeType } from "@istiod/xds-server";
import type { ReceivedResource, ReceivedResponse } from "@istiod/xds-server/testing";
import { expect, test } from "vitest";
import { ResentBytes } from "../src/fleet/resent-bytes.js";

/** Bytes of a response besides its resources, and of a resource besides its content. */
const [headBytes, nameBytes] = [100, 40];

function response(typeUrl: string, resources: Readonly<Record<string, string>>): ReceivedResponse {
  const entries = Object.entries(resources).map(([name, text]): ReceivedResource => {
    const bytes = Buffer.from(text);
    return { name, version: "v", typeUrl, bytes, entryBytes: bytes.length + nameBytes };
  });
  return {
    typeUrl,
    nonce: "n",
    version: "",
    resources: entries,
    names: entries.map(({ name }) => name),
    removed: [],
    controlPlane: "",
    bytes: entries.reduce((sum, { entryBytes }) => sum + entryBytes, headBytes),
  };
}

function held(resources: Readonly<Record<string, string>>) {
  return new Map(Object.entries(resources).map(([name, text]) => [name, { digest: hash("sha1", text, "base64") }]));
}

test("a changed resource does not count, nor do its name and version", () => {
  const resent = new ResentBytes();
  resent.add(response(routeType, { a: "new", b: "added" }), held({ a: "old" }));
  expect(resent.bytes).toBe(headBytes);
});

test("a resource in the version that the proxy has counts", () => {
  const resent = new ResentBytes();
  resent.add(response(routeType, { a: "same" }), held({ a: "same" }));
  expect(resent.bytes).toBe(headBytes + nameBytes + "same".length);
});

test("endpoints do not count if their cluster has changed, on this stream or on one that ended before they came", () => {
  const resent = new ResentBytes();
  resent.add(response(clusterType, { a: "new" }), held({ a: "old", b: "same" }));
  resent.add(response(clusterType, {}), held({ a: "new", b: "same" }));
  resent.add(response(endpointType, { a: "endpoints", b: "others" }), held({ a: "endpoints", b: "others" }));
  expect(resent.bytes).toBe(3 * headBytes + nameBytes + "others".length);
});
