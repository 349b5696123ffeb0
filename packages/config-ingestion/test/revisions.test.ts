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
    .map(({ object }) => (object?.kind === "DestinationRule" ? (object.spec as { host: string }).host : object?.kind));
}

test("objects labelled with another revision are ignored", () => {
  expect(hosts("canary", rule("old", "stable"), rule("new", "canary"))).toEqual(["new"]);
  expect(hosts("canary", rule("old", "stable"))).toEqual([]);
  expect(hosts("canary", rule("any"))).toEqual(["any"]);
});

test("without a revision, all objects are read", () => {
  expect(hosts("", rule("old", "stable"))).toEqual(["old"]);
});

test("a Pod's revision label names its injector and does not exclude it", () => {
  expect(hosts("stable", pod)).toEqual(["Pod"]);
});
