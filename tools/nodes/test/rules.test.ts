import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApiClient, createObject, parseKubeconfig } from "@istiod/kubernetes";
import { startApiServer } from "@istiod/kubernetes/testing";
import { expect, onTestFinished, test } from "vitest";
import { imageName } from "../src/agent/images.js";
import { quantity } from "../src/agent/field-values.js";
import { ServiceAccountTokens } from "../src/agent/service-account-tokens.js";
import { writeVolume } from "../src/agent/volume-files.js";
import { nextStep, rollingLimits } from "../src/controllers/rolling-update.js";
import { slicesFor } from "../src/controllers/endpoint-slices.js";
import type { EndpointSlice, Pod, Service } from "../src/kube/objects.js";
import { types } from "../src/kube/types.js";
import { lookUp } from "../src/network/service-names.js";
import { serviceRules } from "../src/network/service-rules.js";

const meta = (name: string, rest: object = {}) => ({
  name,
  namespace: "shop",
  uid: `uid-${name}`,
  resourceVersion: "1",
  ...rest,
});

test("the limits of a rolling update are counts or percentages, and never both zero", () => {
  expect(rollingLimits(10, {})).toEqual({ maxSurge: 3, maxUnavailable: 2 });
  expect(rollingLimits(1, {})).toEqual({ maxSurge: 1, maxUnavailable: 0 });
  expect(rollingLimits(3, { maxSurge: 0, maxUnavailable: "10%" })).toEqual({ maxSurge: 0, maxUnavailable: 1 });
});

test("a rolling update keeps enough replicas available in every step, and ends", () => {
  for (const [maxSurge, maxUnavailable] of [
    [1, 0],
    [0, 1],
    [2, 1],
  ] as const) {
    const desired = 4;
    let current = { replicas: 0, available: 0 };
    let old = [{ replicas: 4, available: 4 }];
    let steps = 0;
    while (current.available < desired || old[0]!.replicas > 0) {
      const next = nextStep({ desired, maxSurge, maxUnavailable, current, old });
      // New replicas become available one step later.
      current = { replicas: next.current, available: current.replicas };
      old = next.old.map((replicas) => ({ replicas, available: replicas }));
      expect(current.available + old[0]!.available).toBeGreaterThanOrEqual(desired - maxUnavailable);
      expect(current.replicas + old[0]!.replicas).toBeLessThanOrEqual(desired + maxSurge);
      expect(++steps).toBeLessThan(20);
    }
  }
});

test("old replicas that are not available are removed first", () => {
  const old = [
    { replicas: 2, available: 0 },
    { replicas: 3, available: 3 },
  ];
  const step = nextStep({ desired: 3, maxSurge: 1, maxUnavailable: 0, current: { replicas: 0, available: 0 }, old });
  expect(step).toEqual({ current: 0, old: [0, 3] });
});

const service = {
  metadata: meta("cart"),
  spec: { clusterIP: "10.96.1.1", selector: { app: "cart" }, ports: [{ name: "http", port: 80, targetPort: "web" }] },
} as Service;

function pod(name: string, ip: string, ready: boolean, metadata: object = {}): Pod {
  return {
    metadata: meta(name, { labels: { app: "cart" }, ...metadata }),
    spec: {
      nodeName: "node-1",
      containers: [
        { name: "main", image: "echo", ports: [{ name: "web", containerPort: name === "c" ? 9090 : 8080 }] },
      ],
    },
    status: { podIP: ip, conditions: [{ type: "Ready", status: ready ? "True" : "False" }] },
  };
}

test("endpoints have the conditions of their pods, and a slice for each set of ports", () => {
  const pods = [
    pod("a", "10.0.0.1", true),
    pod("b", "10.0.0.2", true, { deletionTimestamp: "2026-01-01T00:00:00Z" }),
    pod("c", "10.0.0.3", false),
  ];
  const slices = slicesFor(service, pods, () => "local-1");
  expect(
    slices.map(({ ports, endpoints }) => [
      ports?.map(({ port }) => port),
      endpoints?.map(({ conditions }) => conditions),
    ]),
  ).toEqual([
    [
      [8080],
      [
        { ready: true, serving: true, terminating: false },
        { ready: false, serving: true, terminating: true },
      ],
    ],
    [[9090], [{ ready: false, serving: false, terminating: false }]],
  ]);
});

const slice = (...endpoints: object[]) =>
  ({ metadata: meta("s"), addressType: "IPv4", endpoints, ports: [{ name: "http", port: 8080 }] }) as EndpointSlice;

test("connections go to ready endpoints, or to terminating ones that serve if there are no others", () => {
  const ready = { addresses: ["10.0.0.1"], conditions: { ready: true } };
  const terminating = { addresses: ["10.0.0.2"], conditions: { ready: false, serving: true, terminating: true } };
  const broken = { addresses: ["10.0.0.3"], conditions: { ready: false, serving: false } };
  const targets = (...endpoints: object[]): string[] =>
    [
      ...serviceRules(
        [service],
        () => [slice(...endpoints)],
        (address) => address,
      ).matchAll(/--to-destination (\S+)/g),
    ].map(([, target]) => target!);
  expect(targets(ready, terminating, broken)).toEqual(["10.0.0.1:8080"]);
  expect(targets(terminating, broken)).toEqual(["10.0.0.2:8080"]);
  expect(targets(broken)).toEqual([]);
});

test("names of Services resolve by their kind", () => {
  const services: Record<string, Service> = {
    "shop/cart": service,
    "shop/db": { metadata: meta("db"), spec: { clusterIP: "None" } },
    "shop/out": { metadata: meta("out"), spec: { type: "ExternalName", externalName: "example.com" } },
  };
  const slices = [
    slice({ addresses: ["10.0.0.1"], hostname: "db-0" }, { addresses: ["10.0.0.2"], conditions: { ready: false } }),
  ];
  const find = (name: string) =>
    lookUp(
      `${name}.svc.cluster.local`,
      (key) => services[key],
      () => slices,
    );
  expect(find("cart.shop")).toEqual({ addresses: ["10.96.1.1"] });
  expect(find("db.shop")).toEqual({ addresses: ["10.0.0.1"] });
  expect(find("db-0.db.shop")).toEqual({ addresses: ["10.0.0.1"] });
  expect(find("db-1.db.shop")).toBeUndefined();
  expect(find("out.shop")).toEqual({ alias: "example.com" });
  expect(find("none.shop")).toBeUndefined();
  expect(find("x.cart.shop")).toBeUndefined();
});

test("images are found by the last part of their name, and quantities have suffixes", () => {
  expect(["docker.io/istio/pilot:1.30", "localhost:5000/echo@sha256:abc", "curl"].map(imageName)).toEqual([
    "pilot",
    "echo",
    "curl",
  ]);
  expect(["500m", "2", "1Gi", "1k"].map(quantity)).toEqual([0.5, 2, 2 ** 30, 1000]);
  expect(() => quantity("1x")).toThrow("1x: not a quantity");
});

test("the files of a volume are replaced at once", async () => {
  const directory = await mkdtemp(join(tmpdir(), "nodes-volume-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const file = (text: string) => ({ content: Buffer.from(text), mode: 0o644 });
  await writeVolume(
    directory,
    new Map([
      ["a", file("1")],
      ["b/c", file("2")],
    ]),
  );
  await writeVolume(directory, new Map([["b/c", file("3")]]));
  expect(await readFile(join(directory, "b/c"), "utf8")).toBe("3");
  await expect(readFile(join(directory, "a"))).rejects.toThrow("ENOENT");
  await expect(writeVolume(directory, new Map([["../x", file("")]]))).rejects.toThrow("path ../x: must be relative");
});

test("a token is renewed after 80 % of its lifetime", async () => {
  const server = await startApiServer({ namespaces: ["shop"] });
  onTestFinished(() => server.stop());
  const client = createApiClient(await parseKubeconfig(server.kubeconfig.yaml));
  onTestFinished(() => client.close());
  const created = await createObject<Pod>(client, types.pods, {
    metadata: { name: "cart", namespace: "shop" },
    spec: { serviceAccountName: "default", containers: [{ name: "main", image: "echo" }] },
  } as unknown as Pod);
  let now = Date.now();
  const tokens = new ServiceAccountTokens(client, created, () => now);
  const first = await tokens.get("istio-ca", 3600);
  const claims = JSON.parse(Buffer.from(first.split(".")[1]!, "base64url").toString()) as Record<string, unknown>;
  expect(claims["aud"]).toEqual(["istio-ca"]);
  expect(claims["kubernetes.io"]).toMatchObject({ pod: { name: "cart", uid: created.metadata.uid } });
  now += 0.75 * 3600_000;
  expect(await tokens.get("istio-ca", 3600)).toBe(first);
  now += 0.1 * 3600_000;
  expect(await tokens.get("istio-ca", 3600)).not.toBe(first);
});
