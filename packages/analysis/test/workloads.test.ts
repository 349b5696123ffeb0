import { LiveAnalysis } from "@istiod/analysis";
import {
  allKinds,
  analysisKinds,
  applyMeshConfig,
  meshConfig,
  meshConfigKey,
  readText,
  setObjects,
} from "@istiod/config-schema";
import { Database } from "@istiod/incremental";
import { describe, expect, it, test } from "vitest";
import { messagesIn, object, placesIn } from "./messages-in.js";

const labels = { app: "cart", version: "v1" };
const template = (of: object = labels): object => ({
  metadata: { labels: of },
  spec: { containers: [{ name: "app", image: "app", ports: [{ containerPort: 8080 }] }] },
});

/** An object of each kind that creates or is a workload with the labels. */
const creators: Readonly<Record<string, (of: object) => string>> = {
  Deployment: (of) => workload("apps/v1", "Deployment", { template: template(of) }),
  StatefulSet: (of) => workload("apps/v1", "StatefulSet", { template: template(of) }),
  DaemonSet: (of) => workload("apps/v1", "DaemonSet", { template: template(of) }),
  ReplicaSet: (of) => workload("apps/v1", "ReplicaSet", { template: template(of) }),
  ReplicationController: (of) => workload("v1", "ReplicationController", { template: template(of) }),
  Job: (of) => workload("batch/v1", "Job", { template: template(of) }),
  CronJob: (of) => workload("batch/v1", "CronJob", { jobTemplate: { spec: { template: template(of) } } }),
  WorkloadEntry: (of) => workload("networking.istio.io/v1", "WorkloadEntry", { address: "10.0.0.1", labels: of }),
  WorkloadGroup: (of) =>
    workload("networking.istio.io/v1", "WorkloadGroup", { metadata: { labels: of }, template: {} }),
};

function workload(apiVersion: string, kind: string, spec: object): string {
  return `${JSON.stringify({ apiVersion, kind, metadata: { name: "cart", namespace: "shop" }, spec })}\n---\n`;
}

const service = object("Service", "shop/cart", {
  spec: { selector: { app: "cart" }, ports: [{ name: "http", port: 80, targetPort: 8080 }] },
});
const namespace = object("Namespace", "", { metadata: { name: "shop", labels: { "istio-injection": "enabled" } } });
const configuration =
  namespace +
  service +
  object("DestinationRule", "shop/cart", {
    spec: { host: "cart", subsets: [{ name: "v1", labels: { version: "v1" } }] },
  }) +
  object("VirtualService", "shop/cart", {
    spec: { hosts: ["cart"], http: [{ route: [{ destination: { host: "cart", subset: "v1" } }] }] },
  }) +
  object("Sidecar", "shop/cart", { spec: { workloadSelector: { labels }, egress: [{ hosts: ["./*"] }] } }) +
  object("AuthorizationPolicy", "shop/cart", { spec: { selector: { matchLabels: labels }, rules: [{}] } }) +
  object("RequestAuthentication", "shop/cart", { spec: { selector: { matchLabels: labels } } });
const codes = ["IST0173", "IST0101", "IST0127", "MESH0009", "MESH0010"];

describe.each(Object.entries(creators))("the workloads of a %s", (kind, create) => {
  it("are selected by all kinds of objects", () => {
    expect(messagesIn(configuration + create(labels), codes)).toEqual([]);
  });

  it("are not selected by other labels", () => {
    const found = placesIn(configuration + create({ app: "pay", version: "v7" }), codes);
    expect(found.map((place) => place.split(" ").slice(0, 2).join(" ")).sort()).toEqual([
      "IST0101 Sidecar",
      "IST0127 AuthorizationPolicy",
      "IST0173 DestinationRule",
      "MESH0009 Service",
      "MESH0010 RequestAuthentication",
      // No Service selects it.
      ...(kind === "WorkloadEntry" ? ["MESH0010 WorkloadEntry"] : []),
    ]);
  });
});

test.each(["StatefulSet", "DaemonSet", "Job", "CronJob"])("the Services of a %s must agree on ports", (kind) => {
  const other = service
    .replaceAll('"cart"', '"other"')
    .replace('"app":"other"', '"app":"cart"')
    .replace(":80,", ":81,");
  const found = messagesIn(namespace + service + other + creators[kind]?.(labels), ["IST0137"]);
  expect(found).toEqual([
    expect.stringMatching(`^IST0137 ${kind} shop/cart 7: ${kind} cart has conflicting ports: .*\\(80, 81\\)`),
  ]);
});

test("a template's pods may be injected unless their namespace is known not to be", () => {
  const policy = object("AuthorizationPolicy", "shop/cart", {
    spec: { selector: { matchLabels: labels }, rules: [{}] },
  });
  const of = (more: string): readonly string[] =>
    placesIn(policy + creators["Deployment"]?.(labels) + more, ["IST0127"]);
  const labelled = (own: object): string => object("Namespace", "", { metadata: { name: "shop", labels: own } });
  expect(of("")).toEqual([]);
  expect(of(labelled({ "istio.io/rev": "canary" }))).toEqual([]);
  expect(of(labelled({ "istio-injection": "disabled" }))).toEqual(["IST0127 AuthorizationPolicy shop/cart 1"]);
  expect(of(labelled({}))).toEqual(["IST0127 AuthorizationPolicy shop/cart 1"]);
});

test("a subset without pods is an error only if a route leads to it", () => {
  const rule = object("DestinationRule", "shop/cart", {
    spec: { host: "cart", subsets: [{ name: "v2", labels: { version: "v2" } }] },
  });
  const route = (subset: string): string =>
    object("VirtualService", "bank/cart", {
      spec: {
        hosts: ["cart.example.com"],
        tcp: [{ route: [{ destination: { host: "cart.shop.svc.cluster.local", subset } }] }],
      },
    });
  const of = (more: string): readonly string[] =>
    messagesIn(service + rule + creators["Deployment"]?.(labels) + more, ["IST0173"]);
  const why = 'no pod has the label version=v2; did you mean "version=v1"?';
  expect(of("")).toEqual([
    `IST0173 DestinationRule shop/cart 3: subset "v2" does not select any pods, which no route leads to: ${why}`,
  ]);
  expect(of(route("v1"))).toEqual(of(""));
  expect(of(route("v2"))).toEqual([
    `IST0173 DestinationRule shop/cart 3: subset "v2" does not select any pods, so requests for it fail: ${why}`,
  ]);
});

test("a served mesh with Deployments and without endpoints says so", async () => {
  const database = new Database<undefined>();
  const ignore = { warning: () => undefined, error: () => undefined };
  const write = (text: string): void =>
    void database.commit((tx) => {
      const config = applyMeshConfig({}, ignore);
      if (config !== undefined) tx.set(meshConfig, meshConfigKey, config);
      const kinds = [...allKinds, ...analysisKinds];
      setObjects(
        tx,
        readText(text, "mesh.yaml", { kinds }).flatMap((reading) => reading.objects),
      );
    });
  write(service + creators["Deployment"]?.(labels));
  const analysis = new LiveAnalysis({ database, client: undefined, kinds: [], sources: [], problems: () => [] });
  const found = async (): Promise<readonly string[]> =>
    (await analysis.findings()).flatMap(({ code, message }) => (code === "MESH0009" ? [message] : []));
  expect(await found()).toEqual([
    "the service has no endpoints: its workloads are those that Deployment shop/cart would create, and nothing creates them from files; add their Pods and EndpointSlices, as `kubectl get` prints them",
  ]);
  write(object("Pod", "shop/cart-1", { spec: { containers: [] } }, { labels }));
  expect(await found()).toEqual([]);
  analysis.stop();
});
