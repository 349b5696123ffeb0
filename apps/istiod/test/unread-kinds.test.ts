import { kindsWithoutEffect } from "@istiod/analysis";
import {
  allKinds,
  analysisKinds,
  applyMeshConfig,
  environment,
  meshConfig,
  meshConfigKey,
  readText,
  setObjects,
  workloadKinds,
} from "@istiod/config-schema";
import { Database, type Query } from "@istiod/incremental";
import { type Proxy, proxyNamed } from "@istiod/push-context";
import { generators, lookups, secretLookup } from "@istiod/xds-generators";
import { expect, test } from "vitest";
import { objects, text } from "./features/every-kind.js";

test("analysis reports exactly the kinds that no generator reads", () => {
  const kinds = [...allKinds, ...analysisKinds];
  const database = new Database<Proxy>();
  const defaults = applyMeshConfig({}, { warning: () => undefined, error: () => undefined });
  const documents = objects.map(text).join("\n---\n");
  database.commit((tx) => {
    if (defaults !== undefined) tx.set(meshConfig, meshConfigKey, defaults);
    for (const variable of ["ENABLE_MCS_SERVICE_DISCOVERY", "ENABLE_MCS_HOST"]) tx.set(environment, variable, "true");
    setObjects(
      tx,
      readText(documents, "mesh.yaml", { kinds }).flatMap((reading) => reading.objects),
    );
  });
  const read = new Set<string>();
  for (const name of ["web-v1.shop", "gate-v1.shop"]) {
    const proxy = proxyNamed(database, name);
    const view = database.view({ ...proxy, verifiedIdentity: { namespace: "shop", serviceAccount: "gate" } });
    const note = <A>(query: Query<A, unknown>, arg: A): void => {
      view.call(query, arg);
      const { inputs, facts } = view.explain(query, arg);
      for (const { collection } of [...inputs, ...facts.flatMap(({ reads }) => reads)]) read.add(collection);
    };
    for (const generator of Object.values(generators)) note(generator, undefined);
    for (const lookup of Object.values(lookups)) note(lookup, "outbound|80||cart.shop.svc.cluster.local");
    for (const secret of ["kubernetes://shop-cert", "configmap://shop/shop-ca"]) note(secretLookup, secret);
  }
  // Analysis reads the first ones. A ServiceAccount is there for Kubernetes, whatever istiod does.
  const analyzedOnly = new Set([
    ...workloadKinds.map(({ kind }) => kind),
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
    "CustomResourceDefinition",
    "ServiceAccount",
  ]);
  const unread = kinds
    .map(({ collection }) => collection.name)
    .filter((name) => !read.has(name) && !analyzedOnly.has(name));
  expect(unread.sort()).toEqual([...kindsWithoutEffect.keys()].map(({ collection }) => collection.name).sort());
});
