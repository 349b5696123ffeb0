import { readFileSync } from "node:fs";
import * as schema from "@istiod/config-schema";
import {
  absentReadersOf,
  allKinds,
  analysisKinds,
  applyMeshConfig,
  environment,
  type Kind,
  kindsWithoutEffect,
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

const kinds = [...allKinds, ...analysisKinds];

/** Kinds that analysis reads, and ServiceAccounts, which are there for Kubernetes, whatever istiod does. */
const analyzedOnly = new Set([
  ...workloadKinds.map(({ kind }) => kind),
  "MutatingWebhookConfiguration",
  "ValidatingWebhookConfiguration",
  "CustomResourceDefinition",
  "ServiceAccount",
]);

/** Variables without which istiod does not read some kinds. */
const variables = [
  "ENABLE_MCS_SERVICE_DISCOVERY",
  "ENABLE_MCS_HOST",
  "PILOT_ENABLE_ALPHA_GATEWAY_API",
  "ENABLE_GATEWAY_API_INFERENCE_EXTENSION",
];

/** Returns the names of the collections that generation for proxies reads. */
function readByGenerators(): ReadonlySet<string> {
  const database = new Database<Proxy>();
  const defaults = applyMeshConfig({}, { warning: () => undefined, error: () => undefined });
  const documents = objects.map(text).join("\n---\n");
  database.commit((tx) => {
    if (defaults !== undefined) tx.set(meshConfig, meshConfigKey, defaults);
    for (const variable of variables) tx.set(environment, variable, "true");
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
  return read;
}

/** Returns the collections, and those of indexes, that a file imports from the schema. */
function importedCollections(path: string): readonly string[] {
  const text = readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");
  const names = /import \{([^}]*)\} from "@istiod\/config-schema"/.exec(text)?.[1] ?? "";
  return names.split(",").flatMap((name) => {
    const value: unknown = schema[name.trim() as keyof typeof schema];
    const of = typeof value === "object" && value !== null && "collection" in value ? value.collection : value;
    return typeof of === "object" && of !== null && "id" in of && "name" in of ? [String(of.name)] : [];
  });
}

const injection = importedCollections("apps/istiod/src/webhooks/injection.ts");

/** The kinds whose resources the registration of workloads watches, by their literals. */
const registration = kinds.filter(({ kind }) =>
  readFileSync(
    new URL("../../../packages/controllers/src/workload-registration/observed-entries.ts", import.meta.url),
    "utf8",
  ).includes(`networking("${kind}"`),
);

const generated = readByGenerators();

test.each([
  [{ cluster: true, injects: true, registers: true }],
  [{ cluster: true, injects: false, registers: true }],
  [{ cluster: true, injects: true, registers: false }],
  [{ cluster: false, injects: true, registers: true }],
])("kinds without effect are exactly those that nothing reads that runs: %j", (running) => {
  const { cluster, injects, registers } = running;
  const read = new Set([
    ...generated,
    ...(cluster && injects ? injection : []),
    ...(cluster && registers ? registration.map(({ collection }) => collection.name) : []),
  ]);
  const nameOf = ({ collection }: Kind): string => collection.name;
  const unread = kinds.map(nameOf).filter((name) => !read.has(name) && !analyzedOnly.has(name));
  expect(unread.sort()).toEqual(
    [...kindsWithoutEffect(absentReadersOf({ ...running, hasKubeconfigDirectory: false })).keys()].map(nameOf).sort(),
  );
});
