import { deepEqual } from "node:assert/strict";
import { difference, resource, ResourceSet } from "@istiod/resources";

const encode = (text: string) => new TextEncoder().encode(text);

// Resources that many clients share are one part, shared by identity.
const everywhere = ResourceSet.of([resource("cart", encode("10.0.0.1")), resource("shop", encode("10.0.0.2"))]);
const before = ResourceSet.union([everywhere, ResourceSet.of([resource("mine", encode("v1"))])]);
const after = ResourceSet.union([
  everywhere,
  ResourceSet.of([resource("mine", encode("v2")), resource("new", encode(""))]),
]);

const { changed, removed } = difference(before, after);
deepEqual(
  changed.map(({ name }) => name),
  ["mine", "new"],
);
deepEqual(removed, []);
