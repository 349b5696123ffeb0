import { expect, test } from "vitest";
import { object } from "./messages-in.js";
import { recomputedBy } from "./recomputations.js";

const pod = (name: string, app: string): string =>
  object("Pod", name, { spec: { containers: [{ name: "app" }] } }, { labels: { app, version: "v1" } });

const service = (i: number): string =>
  object("Service", `shop/service-${i}`, { spec: { ports: [{ port: 80 }], selector: { app: "web" } } });

const rule = (i: number): string =>
  object("DestinationRule", `shop/rule-${i}`, {
    spec: { host: `service-${i}`, subsets: [{ name: "v1", labels: { version: "v1" } }] },
  });

/** Recomputations of a Pod of a new application, with a label that the subsets of a number of rules select. */
const recomputed = (rules: number): number =>
  recomputedBy(pod("shop/new", "new"), [
    pod("shop/web", "web"),
    ...Array.from({ length: rules }, (_, i) => [service(i), rule(i)]).flat(),
  ]);

test("a Pod with labels that many subsets select, as others have, does not analyze their rules again", () => {
  expect(recomputed(40)).toBe(recomputed(2));
});
