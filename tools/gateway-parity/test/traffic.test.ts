import fc from "fast-check";
import { expect, it } from "vitest";
import { OwnMesh } from "../src/own-mesh.js";
import type { StoredObject } from "../src/api-objects.js";
import { randomTraffic } from "../src/traffic/index.js";

const kinds = [
  "AuthorizationPolicy",
  "DestinationRule",
  "Gateway",
  "PeerAuthentication",
  "RequestAuthentication",
  "ServiceEntry",
  "Sidecar",
  "VirtualService",
  "WorkloadEntry",
];

it("random objects of every kind are accepted, most of them", () => {
  const objects = fc.sample(randomTraffic, { numRuns: 40, seed: 1 }).flat();
  const accepted = objects.filter((object) => new OwnMesh([object as StoredObject], {}).rejected.length === 0);
  expect([...new Set(accepted.map(({ kind }) => kind))].sort()).toEqual(kinds);
  expect(accepted.length / objects.length).toBeGreaterThan(0.85);
});
