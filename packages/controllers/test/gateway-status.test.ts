import { type ComputedStatus, gatewayStatusController, type StatusChanges } from "@istiod/controllers";
import { type ObjectStatus, statusKinds } from "@istiod/gateway-api";
import type { ResourceType } from "@istiod/kubernetes";
import { expect, it, test } from "vitest";
import { eventually, meshSettings, testCluster, type TestCluster } from "./support/cluster.js";

const group = "gateway.networking.k8s.io";
const type = (kind: string, plural: string, namespaced = true): ResourceType => ({
  group,
  version: "v1",
  kind,
  plural,
  namespaced,
});
const types = [
  type("GatewayClass", "gatewayclasses", false),
  type("Gateway", "gateways"),
  type("HTTPRoute", "httproutes"),
];

const time = "2020-01-01T00:00:00Z";
const condition = (name: string, status: "True" | "False" = "True", message = "fine") => ({
  type: name,
  status,
  reason: name,
  message,
});
const known = (name: string, status: "True" | "False" = "True", message = "fine") => ({
  ...condition(name, status, message),
  observedGeneration: 1,
  lastTransitionTime: time,
});

/** Statuses that a test sets. */
class Statuses {
  readonly #followers = new Set<(changes: StatusChanges) => void>();

  follow(changed: (changes: StatusChanges) => void): () => void {
    this.#followers.add(changed);
    return () => void this.#followers.delete(changed);
  }

  set(kindName: string, key: string, status: ComputedStatus | undefined): void {
    const kind = statusKinds.find((known) => known.kind.kind === kindName);
    if (kind === undefined) throw new Error(kindName);
    for (const changed of this.#followers) changed(new Map([[kind, new Map([[key, status]])]]));
  }
}

async function start() {
  const cluster = await testCluster({ namespaces: ["shop", "istio-system"], types });
  const statuses = new Statuses();
  const options = { mesh: meshSettings(), revision: "default", systemNamespace: "istio-system", statuses };
  cluster.run(gatewayStatusController({ ...options, controllerName: "istio.io/gateway-controller" }));
  const { objects } = cluster.server;
  const create = async (kind: string, name: string, { status = {}, labels = {} } = {}): Promise<number> => {
    const object = {
      apiVersion: `${group}/v1`,
      kind,
      metadata: { name, labels, ...(kind !== "GatewayClass" && { namespace: "shop" }) },
      spec: {},
      status,
    };
    await objects.create(object);
    const { metadata } = await objects.updateStatus(object);
    return (metadata as { readonly generation?: number }).generation ?? 0;
  };
  return { cluster, objects, statuses, create };
}

const statusOf = ({ server }: TestCluster, kind: string, name = "edge"): unknown =>
  server.objects.get({ apiVersion: `${group}/v1`, kind, namespace: "shop", name })?.["status"];

const computed = (generation: number, status: ObjectStatus): ComputedStatus => ({ generation, status });

it("conditions are written with generation and time, once, and a transition has a time of its own", async () => {
  const { cluster, statuses, create } = await start();
  const generation = await create("Gateway", "edge", {
    status: { conditions: [known("Accepted"), known("Programmed", "False"), known("example.com/Other", "False")] },
  });
  const desired = (message: string) =>
    computed(generation, {
      conditions: [condition("Accepted", "True", message), condition("Programmed", "True", message)],
      listeners: [{ name: "http", conditions: [condition("Accepted")] }],
      addresses: [],
      attachedListenerSets: 0,
    });
  statuses.set("Gateway", "shop/edge", desired("new"));
  await eventually(() =>
    expect(statusOf(cluster, "Gateway")).toMatchObject({
      conditions: [
        { type: "Accepted", status: "True", message: "new", observedGeneration: generation, lastTransitionTime: time },
        { type: "Programmed", status: "True", message: "new", observedGeneration: generation },
        known("example.com/Other", "False"),
      ],
      listeners: [{ name: "http", conditions: [{ type: "Accepted", observedGeneration: generation }] }],
    }),
  );
  const { conditions } = statusOf(cluster, "Gateway") as { readonly conditions: { lastTransitionTime: string }[] };
  expect(conditions[1]?.lastTransitionTime).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  expect(conditions[1]?.lastTransitionTime).not.toBe(time);
  statuses.set("Gateway", "shop/edge", desired("newer"));
  await eventually(() =>
    expect(statusOf(cluster, "Gateway")).toMatchObject({
      conditions: [
        { message: "newer" },
        { message: "newer", lastTransitionTime: conditions[1]?.lastTransitionTime },
        {},
      ],
    }),
  );
  const writes = cluster.writes().length;
  statuses.set("Gateway", "shop/edge", undefined);
  statuses.set("Gateway", "shop/edge", desired("newer"));
  const marker = await create("Gateway", "marker");
  statuses.set("Gateway", "shop/marker", computed(marker, { conditions: [condition("Accepted")] }));
  await eventually(() => expect(statusOf(cluster, "Gateway", "marker")).toMatchObject({ conditions: [{}] }));
  expect(cluster.writes()).toHaveLength(writes + 1);
});

it("a status that goes and comes back while it is written is written once", async () => {
  const { cluster, statuses, create } = await start();
  const generation = await create("Gateway", "edge");
  const desired = computed(generation, { conditions: [condition("Accepted")] });
  const patches = () => cluster.server.requests.filter(({ method }) => method === "PATCH");
  await cluster.server.faults.delayRequests({ method: "PATCH", times: 1, delayMs: 500 });
  statuses.set("Gateway", "shop/edge", desired);
  await eventually(() => expect(patches()).toHaveLength(1));
  statuses.set("Gateway", "shop/edge", undefined);
  statuses.set("Gateway", "shop/edge", desired);
  await eventually(() => expect(statusOf(cluster, "Gateway")).toMatchObject({ conditions: [{ type: "Accepted" }] }));
  const marker = await create("Gateway", "marker");
  statuses.set("Gateway", "shop/marker", computed(marker, { conditions: [condition("Accepted")] }));
  await eventually(() => expect(statusOf(cluster, "Gateway", "marker")).toMatchObject({ conditions: [{}] }));
  expect(patches().map(({ path }) => path.split("/").at(-2))).toEqual(["edge", "marker"]);
});

it("entries of other controllers stay in their places, and own ones that are not desired are removed", async () => {
  const { cluster, statuses, create } = await start();
  const own = "istio.io/gateway-controller";
  const entry = (parent: object, controllerName: string) => ({
    parentRef: { group, kind: "Gateway", ...parent },
    controllerName,
    conditions: [known("Accepted")],
  });
  const other = entry({ name: "edge" }, "example.com/controller");
  const parents = [other, entry({ name: "former" }, own), entry({ name: "edge", namespace: "shop" }, own)];
  const generation = await create("HTTPRoute", "route", { status: { parents } });
  const wanted = [
    { parentRef: { name: "edge" }, controllerName: own, conditions: [condition("Accepted")] },
    {
      parentRef: { name: "edge", sectionName: "a" },
      controllerName: own,
      conditions: [condition("Accepted", "False")],
    },
  ];
  statuses.set("HTTPRoute", "shop/route", computed(generation, { parents: wanted }));
  await eventually(() =>
    expect(statusOf(cluster, "HTTPRoute", "route")).toMatchObject({
      parents: [
        other,
        { parentRef: { name: "edge" }, conditions: [{ lastTransitionTime: time, observedGeneration: generation }] },
        { parentRef: { sectionName: "a" }, conditions: [{ status: "False" }] },
      ],
    }),
  );
  statuses.set("HTTPRoute", "shop/route", computed(generation, { parents: [] }));
  await eventually(() => expect(statusOf(cluster, "HTTPRoute", "route")).toEqual({ parents: [other] }));
});

it("objects of other revisions, and statuses of other generations, are not written", async () => {
  const { cluster, objects, statuses, create } = await start();
  const accepted = { conditions: [condition("Accepted")] };
  const foreign = await create("Gateway", "foreign", { labels: { "istio.io/rev": "canary" } });
  const generation = await create("Gateway", "edge");
  statuses.set("Gateway", "shop/foreign", computed(foreign, accepted));
  statuses.set("Gateway", "shop/edge", computed(generation + 1, accepted));
  await create("GatewayClass", "istio");
  statuses.set("GatewayClass", "istio", computed(1, { ...accepted, supportedFeatures: [{ name: "Gateway" }] }));
  const classStatus = () => objects.get({ apiVersion: `${group}/v1`, kind: "GatewayClass", name: "istio" })?.["status"];
  await eventually(() =>
    expect(classStatus()).toMatchObject({ ...accepted, supportedFeatures: [{ name: "Gateway" }] }),
  );
  expect(cluster.writes()).toEqual([`PATCH /apis/${group}/v1/gatewayclasses/istio/status`]);
  await objects.apply({
    apiVersion: `${group}/v1`,
    kind: "Gateway",
    metadata: { namespace: "shop", name: "edge" },
    spec: { gatewayClassName: "istio" },
  });
  await eventually(() => expect(statusOf(cluster, "Gateway")).toMatchObject(accepted));
});

it("addresses of an earlier status stay until there are others", async () => {
  const { cluster, statuses, create } = await start();
  const addresses = [{ type: "IPAddress", value: "192.0.2.1" }];
  const generation = await create("Gateway", "edge", { status: { addresses } });
  const conditions = [condition("Programmed", "False")];
  statuses.set("Gateway", "shop/edge", computed(generation, { conditions, addresses: [] }));
  await eventually(() => expect(statusOf(cluster, "Gateway")).toMatchObject({ conditions, addresses }));
  const hostname = [{ type: "Hostname", value: "lb.example.com" }];
  statuses.set("Gateway", "shop/edge", computed(generation, { conditions, addresses: hostname }));
  await eventually(() => expect(statusOf(cluster, "Gateway")).toMatchObject({ addresses: hostname }));
});

test("the generation of every kind with a status is read, without which none is written", () => {
  expect(statusKinds.filter(({ kind }) => kind.hasGeneration !== true).map(({ kind }) => kind.kind)).toEqual([]);
});
