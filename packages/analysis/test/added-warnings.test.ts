import { addedWarnings, type AddedWarningsOptions, LiveAnalysis, type WrittenObject } from "@istiod/analysis";
import {
  allKinds,
  analysisKinds,
  applyChanges,
  decode,
  defaultMeshConfig,
  meshConfig,
  meshConfigKey,
  readText,
} from "@istiod/config-schema";
import { Database } from "@istiod/incremental";
import { FakeClock } from "@istiod/runtime/testing";
import { afterEach, expect, onTestFinished, test } from "vitest";

const service = (name: string): string =>
  `{apiVersion: v1, kind: Service, metadata: {name: ${name}, namespace: shop}, spec: {ports: [{name: http, port: 80}]}}\n---\n`;
const mesh = `{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
${service("cart")}${service("pay")}{apiVersion: networking.istio.io/v1, kind: VirtualService, metadata: {name: old, namespace: shop}, spec: {hosts: [cart], http: [{timeout: 2s, route: [{destination: {host: cart}}]}]}}
`;

const virtualService = (spec: object, metadata: object = {}) => ({
  apiVersion: "networking.istio.io/v1",
  kind: "VirtualService",
  metadata: { name: "new", namespace: "shop", ...metadata },
  spec,
});
const routeTo = (host: string) => ({ hosts: ["pay"], http: [{ route: [{ destination: { host } }] }] });

const errors: unknown[] = [];
afterEach(() => void errors.splice(0));

function accepted(object: object): WrittenObject {
  const [decoded] = decode(object, { kinds: [...allKinds, ...analysisKinds] });
  if (decoded?.outcome !== "accepted") throw new Error(JSON.stringify(decoded));
  return decoded;
}

/** Returns a function that returns the warnings about an object that is added to the mesh. */
async function warnings(options: Partial<AddedWarningsOptions> = {}, text = mesh) {
  const database = new Database<undefined>();
  database.commit((tx) => {
    tx.set(meshConfig, meshConfigKey, defaultMeshConfig());
    applyChanges(
      tx,
      readText(text, "a.yaml", { kinds: [...allKinds, ...analysisKinds] }).flatMap(({ objects }) => objects),
    );
  });
  const analysis = new LiveAnalysis({ database, client: undefined, kinds: allKinds, sources: [], problems: () => [] });
  onTestFinished(() => analysis.stop());
  await analysis.start();
  const clock = new FakeClock();
  const onError = (error: unknown): void => void errors.push(error);
  const added = addedWarnings({ analysis, revision: "default", onError, clock, ...options });
  return (object: object, known: readonly string[] = []) => added(accepted(object), known);
}

test("an object that leads nowhere is accepted with a warning, with field and code", async () => {
  const review = await warnings();
  expect(await review(virtualService(routeTo("crat")))).toEqual([
    expect.stringMatching(/^http\[0\]\.route\[0\]\.destination\.host: .*"crat" not found.*\[IST0101\]$/),
  ]);
  expect(await review(virtualService(routeTo("cart")))).toEqual([]);
});

test("a conflict with another object names both", async () => {
  const review = await warnings();
  expect(await review(virtualService({ ...routeTo("cart"), hosts: ["cart"] }))).toEqual([
    expect.stringMatching(/^hosts\[0\]: .*IST0109/),
    expect.stringMatching(/^VirtualService shop\/old: hosts\[0\]: .*IST0109/),
  ]);
});

test("no warning is given twice, and none about an object of another revision", async () => {
  const review = await warnings();
  const [warning = ""] = await review(virtualService(routeTo("crat")));
  expect(await review(virtualService(routeTo("crat")), [warning.replace(" [IST0101]", "")])).toEqual([]);
  const filter = {
    ...virtualService({ configPatches: [] }),
    apiVersion: "networking.istio.io/v1alpha3",
    kind: "EnvoyFilter",
  };
  expect(await review(filter)).toEqual([]);
  expect(await review(virtualService(routeTo("crat"), { labels: { "istio.io/rev": "canary" } }))).toEqual([]);
});

test("a kind whose analysis takes long is left out for some time, and an analysis that fails gives no warning", async () => {
  const clock = new FakeClock();
  let asked = 0;
  const review = await warnings({
    clock,
    analysis: { findingsAddedBy: async () => (asked++, { findings: [], isComplete: true, workMs: 41, longestMs: 41 }) },
  });
  await review(virtualService(routeTo("crat")));
  await review(virtualService(routeTo("crat")));
  expect(asked).toBe(1);
  await review(core("Service", {}, { spec: {} }));
  expect(asked).toBe(2);
  clock.advance(10_000);
  await review(virtualService(routeTo("crat")));
  expect(asked).toBe(3);
  const failing = await warnings({ analysis: { findingsAddedBy: () => Promise.reject(new Error("no")) } });
  await expect(failing(virtualService(routeTo("crat")))).rejects.toThrow("no");
  expect(errors).toEqual([new Error("no")]);
});

test("the analysis of many objects gets a fifth of the time, after two seconds", async () => {
  const clock = new FakeClock();
  let asked = 0;
  const review = await warnings({
    clock,
    analysis: { findingsAddedBy: async () => (asked++, { findings: [], isComplete: true, workMs: 30, longestMs: 9 }) },
  });
  for (let i = 0; i < 100; i++) await review(virtualService(routeTo("crat")));
  expect(asked).toBe(67);
  clock.advance(1000);
  for (let i = 0; i < 100; i++) await review(virtualService(routeTo("crat")));
  expect(asked).toBe(67 + 7);
});

const core = (kind: string, metadata: object, fields: object, apiVersion = "v1") => ({
  apiVersion,
  kind,
  metadata: { name: "new", ...(kind !== "Namespace" && { namespace: "shop" }), ...metadata },
  ...fields,
});
const deployment = (template: object, metadata: object = {}) =>
  core(
    "Deployment",
    metadata,
    {
      spec: {
        selector: { matchLabels: { app: "new" } },
        template: { metadata: { labels: { app: "new" }, ...template }, spec: { containers: [{ name: "new" }] } },
      },
    },
    "apps/v1",
  );
const config = { "proxy.istio.io/config": "holdApplicationUntilProxyStart: true" };

const ofKubernetes: Readonly<Record<string, { readonly object: object; readonly says: RegExp }>> = {
  "a Pod with a word for true": {
    object: core("Pod", { labels: { "sidecar.istio.io/inject": "yes" } }, { spec: { containers: [{ name: "a" }] } }),
    says: /^metadata\.labels.*sidecar\.istio\.io\/inject.*: label sidecar\.istio\.io\/inject=yes is ignored.*\[MESH0018\]$/,
  },
  "a Deployment whose template has it": {
    object: deployment({ labels: { app: "new", "sidecar.istio.io/inject": "yes" } }),
    says: /sidecar\.istio\.io\/inject=yes is ignored.*\[MESH0018\]$/,
  },
  "a Deployment with an annotation of its Pods": {
    object: deployment({}, { annotations: { "sidecar.istio.io/proxyCPU": "100m" } }),
    says: /has no effect on a Deployment.*move it to spec\.template\.metadata\.annotations \[IST0107\]$/,
  },
  "a Deployment with an unknown field of proxy.istio.io/config": {
    object: deployment({ annotations: config }),
    says: /proxy\.istio\.io\/config.*holdApplicationUntilProxyStart is not a.*\[IST0125\]$/,
  },
  "a Namespace in ambient mode": {
    object: core("Namespace", { labels: { "istio.io/dataplane-mode": "ambient" } }, {}),
    says: /label istio\.io\/dataplane-mode=ambient has no effect.*\[MESH0003\]$/,
  },
  "a Namespace with an unknown word for injection": {
    object: core("Namespace", { labels: { "istio-injection": "true" } }, {}),
    says: /istio-injection=true neither enables nor disables.*\[MESH0018\]$/,
  },
  "a Service with a misspelled annotation": {
    object: core("Service", { annotations: { "networking.istio.io/exportto": "shop" } }, { spec: {} }),
    says: /annotation networking\.istio\.io\/exportto is unknown.*\[IST0108\]$/,
  },
  "a Service with an appProtocol that hides the protocol of the name": {
    object: core("Service", {}, { spec: { ports: [{ name: "http-web", port: 80, appProtocol: "htpp" }] } }),
    says: /^ports\[0\]\.appProtocol: .*\[MESH0070\]$/,
  },
  "an HTTPRoute to a backend that does not exist": {
    object: core(
      "HTTPRoute",
      {},
      {
        spec: {
          parentRefs: [{ group: "", kind: "Service", name: "cart", port: 80 }],
          rules: [{ backendRefs: [{ name: "crat", port: 80 }] }],
        },
      },
      "gateway.networking.k8s.io/v1",
    ),
    says: /BackendNotFound.*\[MESH0063\]$/,
  },
};

test.for(Object.entries(ofKubernetes))("%s: a warning", async ([, { object, says }]) => {
  const review = await warnings();
  expect(await review(object)).toEqual([expect.stringMatching(says)]);
});

test("a revision that no injection webhook has is unknown, also that of a Namespace", async () => {
  const webhooks = `---
{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: a, labels: {"istio.io/rev": canary}}, webhooks: [{name: rev.namespace.sidecar-injector.istio.io, clientConfig: {service: {name: istiod, namespace: istio-system}}}]}
`;
  const review = await warnings({}, mesh + webhooks);
  expect(await review(core("Namespace", { labels: { "istio.io/rev": "canary" } }, {}))).toEqual([]);
  expect(await review(core("Namespace", { labels: { "istio.io/rev": "canry" } }, {}))).toEqual([
    expect.stringMatching(/revision "canry" is not known.*did you mean "canary"\? \[MESH0049\]$/),
  ]);
});

test("a namespace that istiod has not read yet is no mistake of an object in it", async () => {
  const review = await warnings();
  expect(
    await review(core("Service", { namespace: "new" }, { spec: { ports: [{ name: "http", port: 80 }] } })),
  ).toEqual([]);
});

test("good objects of Kubernetes have no warning: a Service before its Pods, a Deployment, a Namespace", async () => {
  const review = await warnings();
  const port = { name: "http", port: 80 };
  expect(await review(core("Service", {}, { spec: { selector: { app: "new" }, ports: [port] } }))).toEqual([]);
  expect(await review(deployment({ annotations: { "sidecar.istio.io/proxyCPU": "100m" } }))).toEqual([]);
  expect(await review(core("Namespace", { labels: { "istio-injection": "enabled" } }, {}))).toEqual([]);
});
