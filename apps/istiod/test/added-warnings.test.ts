import type { AdmissionRequest } from "@istiod/admission";
import { LiveAnalysis } from "@istiod/analysis";
import { allKinds, applyChanges, defaultMeshConfig, meshConfig, meshConfigKey, readText } from "@istiod/config-schema";
import { Database } from "@istiod/incremental";
import { FakeClock } from "@istiod/runtime/testing";
import { validationWebhook } from "@istiod/validation";
import { afterEach, expect, onTestFinished, test } from "vitest";
import { addedWarnings, type AddedWarningsOptions } from "../src/webhooks/added-warnings.js";

const service = (name: string): string =>
  `{apiVersion: v1, kind: Service, metadata: {name: ${name}, namespace: shop}, spec: {ports: [{name: http, port: 80}]}}\n---\n`;
const mesh = `${service("cart")}${service("pay")}{apiVersion: networking.istio.io/v1, kind: VirtualService, metadata: {name: old, namespace: shop}, spec: {hosts: [cart], http: [{timeout: 2s, route: [{destination: {host: cart}}]}]}}
`;

const virtualService = (spec: object, metadata: object = {}) => ({
  apiVersion: "networking.istio.io/v1",
  kind: "VirtualService",
  metadata: { name: "new", namespace: "shop", ...metadata },
  spec,
});
const routeTo = (host: string) => ({ hosts: ["pay"], http: [{ route: [{ destination: { host } }] }] });

/** Returns a function that reviews an object as the webhook of an istiod with the mesh. */
const errors: unknown[] = [];
afterEach(() => void errors.splice(0));

async function webhook(options: Partial<AddedWarningsOptions> = {}) {
  const database = new Database<undefined>();
  database.commit((tx) => {
    tx.set(meshConfig, meshConfigKey, defaultMeshConfig());
    applyChanges(
      tx,
      readText(mesh, "a.yaml").flatMap(({ objects }) => objects),
    );
  });
  const analysis = new LiveAnalysis({ database, client: undefined, kinds: allKinds, sources: [], problems: () => [] });
  onTestFinished(() => analysis.stop());
  await analysis.start();
  const clock = new FakeClock();
  const admit = validationWebhook({
    furtherWarnings: addedWarnings({
      analysis,
      revision: "default",
      onError: (error) => errors.push(error),
      clock,
      ...options,
    }),
  });
  return async (object: object): Promise<readonly string[]> => {
    const request = { operation: "CREATE", namespace: "shop", object } as unknown as AdmissionRequest;
    const { allowed, warnings = [] } = await admit(request, {
      url: new URL("http://x"),
      signal: new AbortController().signal,
    });
    expect(allowed).toBe(true);
    return warnings;
  };
}

test("an object that leads nowhere is accepted with a warning, with field and code", async () => {
  const review = await webhook();
  expect(await review(virtualService(routeTo("crat")))).toEqual([
    expect.stringMatching(/^http\[0\]\.route\[0\]\.destination\.host: .*"crat" not found.*\[IST0101\]$/),
  ]);
  expect(await review(virtualService(routeTo("cart")))).toEqual([]);
});

test("a conflict with another object names both", async () => {
  const review = await webhook();
  const warnings = await review(virtualService({ ...routeTo("cart"), hosts: ["cart"] }));
  expect(warnings).toEqual([
    expect.stringMatching(/^hosts\[0\]: .*IST0109/),
    expect.stringMatching(/^VirtualService shop\/old: hosts\[0\]: .*IST0109/),
  ]);
});

test("no warning is given twice, and none about an object of another revision", async () => {
  const review = await webhook();
  const faulty = {
    ...routeTo("cart"),
    http: [
      { timeout: "2s", retries: { attempts: 2, perTryTimeout: "5s" }, route: [{ destination: { host: "cart" } }] },
    ],
  };
  expect(await review(virtualService(faulty))).toHaveLength(1);
  const filter = {
    ...virtualService({ configPatches: [] }),
    apiVersion: "networking.istio.io/v1alpha3",
    kind: "EnvoyFilter",
  };
  expect(await review(filter)).toEqual([expect.stringMatching(/^EnvoyFilter exposes internals/)]);
  expect(await review(virtualService(routeTo("crat"), { labels: { "istio.io/rev": "canary" } }))).toEqual([]);
});

test("a mesh that is too large is left out for some time, and an analysis that fails gives no warning", async () => {
  const clock = new FakeClock();
  let asked = 0;
  const review = await webhook({
    clock,
    analysis: { findingsAddedBy: async () => (asked++, { findings: [], isComplete: true, preparedMs: 41 }) },
  });
  await review(virtualService(routeTo("crat")));
  await review(virtualService(routeTo("crat")));
  expect(asked).toBe(1);
  clock.advance(10_000);
  await review(virtualService(routeTo("crat")));
  expect(asked).toBe(2);
  const failing = await webhook({ analysis: { findingsAddedBy: () => Promise.reject(new Error("no")) } });
  expect(await failing(virtualService(routeTo("crat")))).toEqual([]);
  expect(errors).toEqual([new Error("no")]);
});
