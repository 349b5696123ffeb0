import fc from "fast-check";
import { expect, it } from "vitest";
import { OwnMesh } from "../src/own-mesh.js";
import type { StoredObject } from "../src/api-objects.js";
import { randomPatches, randomTraffic } from "../src/traffic/index.js";

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

it("random EnvoyFilters beside them are accepted", () => {
  const meshes = fc.sample(randomPatches, { numRuns: 20, seed: 1 });
  const filters = meshes.map((objects) => objects.filter(({ kind }) => kind === "EnvoyFilter"));
  expect(filters.every(({ length }) => length > 0)).toBe(true);
  expect(filters.flatMap((objects) => new OwnMesh(objects as readonly StoredObject[], {}).rejected)).toEqual([]);
});
