import { type Change, change, type ChangeKind } from "../mesh/changes.js";
import type { Mesh } from "../mesh/mesh.js";

/** Percentages by kind: 60 pods, 20 weights, 10 policies, 5 rules, 5 additions or removals of services. */
const shares: readonly (readonly [ChangeKind, number])[] = [
  ["scale", 25],
  ["pod", 15],
  ["ready", 10],
  ["endpoint", 10],
  ["weight", 20],
  ["policy", 5],
  ["mtls", 5],
  ["rule", 5],
  ["service-alone", 3],
  ["service-add", 1],
  ["service-del", 1],
];
/** Limit of added services, which keeps the size of the mesh constant. */
const maxAdded = 10;

/** Makes a random change to the mesh. */
export function randomChange(mesh: Mesh): Change {
  let at = mesh.random.below(100);
  const drawn = shares.find(([, share]) => (at -= share) < 0)?.[0] ?? "scale";
  const kind =
    drawn === "service-del" && mesh.added.length === 0
      ? "service-add"
      : drawn === "service-add" && mesh.added.length >= maxAdded
        ? "service-del"
        : drawn;
  return change(mesh, kind, mesh.random.below(mesh.services.length));
}
