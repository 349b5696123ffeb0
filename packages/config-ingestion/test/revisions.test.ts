import { destinationRuleKind } from "@istiod/config-schema";
import { expect, test } from "vitest";
import { Ledger } from "../src/ledger/ledger.js";

const rule = (host: string, revision?: string): string => `apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: { name: cart, namespace: shop${revision === undefined ? "" : `, labels: { istio.io/rev: ${revision} }`} }
spec: { host: ${host} }
`;
const pod = `apiVersion: v1
kind: Pod
metadata: { name: web, namespace: shop, labels: { istio.io/rev: canary } }
spec: { containers: [{ name: app }] }
`;

function hosts(revision: string, ...texts: readonly string[]): unknown[] {
  const ledger = new Ledger({ revision });
  texts.forEach((text, i) => ledger.replaceFile(`${i}.yaml`, text));
  expect(ledger.problems()).toEqual([]);
  return ledger
    .takeChanges()
    .flatMap((change) => ("object" in change ? [change.object] : []))
    .map((object) => (object?.kind === "DestinationRule" ? (object.spec as { host: string }).host : object?.kind));
}

test("objects labelled with another revision are ignored", () => {
  expect(hosts("canary", rule("old", "stable"), rule("new", "canary"))).toEqual(["new"]);
  expect(hosts("canary", rule("old", "stable"))).toEqual([]);
  expect(hosts("canary", rule("any"))).toEqual(["any"]);
});

test("objects of another revision are named, with their place, until they are not", () => {
  const ledger = new Ledger({ revision: "canary" });
  const taken = (): readonly unknown[] =>
    ledger.takeChanges().flatMap((change) => ("other" in change ? [[change.key, change.other]] : []));
  const other = { namespace: "shop", name: "cart", revision: "stable", own: "canary" };
  ledger.replaceFile("a.yaml", `${pod}---\n${rule("old", "stable")}`);
  expect(taken()).toEqual([["shop/cart", other]]);
  expect(ledger.locate(destinationRuleKind, "shop/cart")).toMatchObject({ file: "a.yaml", line: 6 });
  ledger.replaceFile("a.yaml", rule("newer", "stable"));
  expect(taken()).toEqual([]);
  ledger.replaceFile("a.yaml", rule("newer", "blue"));
  expect(taken()).toEqual([["shop/cart", { ...other, revision: "blue" }]]);
  ledger.replaceFile("a.yaml", rule("newer", "canary"));
  expect(taken()).toEqual([["shop/cart", undefined]]);
  ledger.replaceFile("b.yaml", `apiVersion: v1\nkind: List\nitems:\n- ${JSON.stringify(parsedRule("green"))}\n`);
  ledger.removeFile("a.yaml");
  expect(taken()).toEqual([["shop/cart", { ...other, revision: "green" }]]);
  expect(ledger.locate(destinationRuleKind, "shop/cart")).toMatchObject({ file: "b.yaml", path: ["items", 0] });
  ledger.removeFile("b.yaml");
  expect(taken()).toEqual([["shop/cart", undefined]]);
});

const parsedRule = (revision: string): object => ({
  apiVersion: "networking.istio.io/v1",
  kind: "DestinationRule",
  metadata: { name: "cart", namespace: "shop", labels: { "istio.io/rev": revision } },
  spec: { host: "cart" },
});

test("without a revision, all objects are read", () => {
  expect(hosts("", rule("old", "stable"))).toEqual(["old"]);
});

test("a Pod's revision label names its injector and does not exclude it", () => {
  expect(hosts("stable", pod)).toEqual(["Pod"]);
});
