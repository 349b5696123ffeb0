import { expect, test } from "vitest";
import { object } from "./messages-in.js";
import { recomputedBy } from "./recomputations.js";

const ingress = (name: string): string =>
  object(
    "Ingress",
    `shop/${name}`,
    { spec: { defaultBackend: { service: { name: "cart", port: { number: 80 } } } } },
    { annotations: { "kubernetes.io/ingress.class": "istio", "nginx.ingress.kubernetes.io/rewrite-target": "/" } },
  );

/** Recomputations of an Ingress that is added to a number of others. */
const recomputed = (others: number): number =>
  recomputedBy(
    ingress("new"),
    Array.from({ length: others }, (_, i) => ingress(`old-${i}`)),
  );

test("an Ingress does not analyze the others again", () => {
  expect(recomputed(40)).toBe(recomputed(2));
});
