import { customResourceDefinitions } from "@istiod/cluster";
import { expect, test } from "vitest";
import type { Stored } from "../src/kube/objects.js";
import { patience, pods, unavailable, useRig } from "./rig.js";

const holder = useRig();
const namespace = "default";
const deployments = "/apis/apps/v1/namespaces/default/deployments";
const jobs = "/apis/batch/v1/namespaces/default/jobs";

const template = (app: string, container: object, rest: object = {}) => ({
  selector: { matchLabels: { app } },
  template: {
    metadata: { labels: { app } },
    spec: { terminationGracePeriodSeconds: 20, containers: [container], ...rest },
  },
});

test("a Deployment is reached by its Service's name, and restarts without a failed request", async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  const { rig } = holder;
  const echo = {
    name: "echo",
    image: "echo",
    ports: [{ name: "web", containerPort: 8080 }],
    readinessProbe: { httpGet: { port: "web", path: "/" }, periodSeconds: 1, timeoutSeconds: 10 },
    // Requests may arrive until all rules are written.
    lifecycle: { preStop: { sleep: { seconds: 8 } } },
  };
  await rig.create("/api/v1/namespaces/default/services", {
    metadata: { name: "cart", namespace },
    spec: { selector: { app: "cart" }, ports: [{ port: 80, targetPort: "web" }] },
  });
  await rig.create(deployments, {
    metadata: { name: "cart", namespace },
    spec: { replicas: 2, ...template("cart", echo) },
  });
  const script = `while true; do
    if curl -s -o /dev/null --fail --max-time 30 http://cart.default/; then echo ok; else echo "failed $?"; fi; sleep 0.3
  done`;
  const ready = async () =>
    (await rig.get<{ status?: { readyReplicas?: number } }>(`${deployments}/cart`)).status?.readyReplicas;
  await expect.poll(ready, patience).toBe(2);
  const client = { name: "curl", image: "curl", command: ["sh", "-c", script] };
  await rig.create(deployments, { metadata: { name: "client", namespace }, spec: template("client", client) });
  const clientName = async () => (await rig.pods("app=client"))[0]?.metadata.name ?? "";
  const output = async () => (await rig.logs(await clientName(), "curl").catch(() => "")).trim().split("\n");
  await expect.poll(async () => (await output()).filter((line) => line === "ok").length, patience).toBeGreaterThan(2);
  const before = new Set((await rig.pods("app=cart")).map(({ metadata }) => metadata.uid));
  await rig.patch(`${deployments}/cart`, { spec: { template: { metadata: { annotations: { restarted: "now" } } } } });
  const remaining = async () => (await rig.pods("app=cart")).map(({ metadata }) => metadata.uid);
  await expect
    .poll(async () => (await remaining()).filter((uid) => before.has(uid)).length, { ...patience, timeout: 150_000 })
    .toBe(0);
  expect(await ready()).toBe(2);
  const lines = await output();
  expect(lines.filter((line) => line !== "ok")).toEqual([]);
  await rig.remove(`${deployments}/cart`);
  // Garbage collection: the ReplicaSets and pods of a deleted Deployment are deleted.
  await expect.poll(async () => (await remaining()).length, patience).toBe(0);
}, 300_000);

test("a Job with a native sidecar completes", async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  const { rig } = holder;
  const shell = (name: string, script: string, rest: object = {}) => ({
    name,
    image: "shell",
    command: ["sh", "-c", script],
    volumeMounts: [{ name: "shared", mountPath: "/shared" }],
    ...rest,
  });
  const sidecar = shell(
    "sidecar",
    'trap "echo stopped; exit 0" TERM; sleep 1; touch /shared/up; while true; do sleep 0.2; done',
    {
      restartPolicy: "Always",
      startupProbe: {
        exec: { command: ["test", "-e", "/shared/up"] },
        periodSeconds: 1,
        timeoutSeconds: 10,
        failureThreshold: 60,
      },
    },
  );
  const main = shell("main", "test -e /shared/up && echo work");
  const spec = {
    restartPolicy: "Never",
    volumes: [{ name: "shared", emptyDir: {} }],
    initContainers: [sidecar],
    containers: [main],
  };
  await rig.create(jobs, { metadata: { name: "report", namespace }, spec: { template: { spec } } });
  const status = async () => (await rig.get<{ status?: object }>(`${jobs}/report`)).status;
  await expect
    .poll(status, patience)
    .toMatchObject({ succeeded: 1, conditions: [{ type: "Complete", status: "True" }] });
  const [pod] = await rig.pods("job-name=report");
  expect(pod?.status?.initContainerStatuses?.[0]?.state.terminated).toMatchObject({ exitCode: 0 });
  expect(await rig.logs(pod!.metadata.name, "sidecar")).toContain("stopped");
  expect(await rig.logs(pod!.metadata.name, "main")).toBe("work\n");
}, 180_000);

test("a Job fails after its backoff limit", async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  const { rig } = holder;
  const container = { name: "main", image: "shell", command: ["sh", "-c", "exit 3"] };
  const spec = { backoffLimit: 1, template: { spec: { restartPolicy: "Never", containers: [container] } } };
  await rig.create(jobs, { metadata: { name: "broken", namespace }, spec });
  const status = async () => (await rig.get<{ status?: object }>(`${jobs}/broken`)).status;
  await expect.poll(status, patience).toMatchObject({ failed: 2, conditions: [{ type: "Failed", status: "True" }] });
}, 180_000);

test("a pod reaches the API server, and the machine a load balancer", async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  const { rig } = holder;
  const script = `cd /var/run/secrets/kubernetes.io/serviceaccount
    curl -s --cacert ca.crt -H "Authorization: Bearer $(cat token)" https://kubernetes.default.svc/version`;
  const container = { name: "main", image: "curl", command: ["sh", "-c", script] };
  await rig.create(pods, {
    metadata: { name: "api", namespace },
    spec: { restartPolicy: "Never", containers: [container] },
  });
  await expect.poll(async () => (await rig.pod("api")).status?.phase, patience).toBe("Succeeded");
  expect(await rig.logs("api", "main")).toContain('"major": "1"');
  await rig.create(pods, {
    metadata: { name: "edge", namespace, labels: { app: "edge" } },
    spec: { terminationGracePeriodSeconds: 1, containers: [{ name: "echo", image: "echo" }] },
  });
  const services = "/api/v1/namespaces/default/services";
  await rig.create(services, {
    metadata: { name: "edge", namespace },
    spec: { type: "LoadBalancer", selector: { app: "edge" }, ports: [{ port: 80, targetPort: 8080 }] },
  });
  type Balanced = { status?: { loadBalancer?: { ingress?: { ip: string }[] } } };
  const address = async () => (await rig.get<Balanced>(`${services}/edge`)).status?.loadBalancer?.ingress?.[0]?.ip;
  await expect.poll(address, patience).toBeDefined();
  const ip = await address();
  const request = () =>
    fetch(`http://${ip}/x`, { signal: AbortSignal.timeout(5000) }).then(
      async (response) => (await response.json()) as object,
      (error: unknown) => error,
    );
  await expect.poll(request, patience).toMatchObject({ host: "edge", path: "/x" });
  expect(rig.errors).toEqual([]);
}, 180_000);

test("objects end with owners of other types, and remain while the type of an owner is not served", async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  const { rig } = holder;
  const kind = { group: "shop.example", versions: ["v1"], kind: "Shelf", plural: "shelves", namespaced: true };
  for (const definition of customResourceDefinitions([kind]))
    await rig.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition);
  const shelves = "/apis/shop.example/v1/namespaces/default/shelves";
  const shelf = { apiVersion: "shop.example/v1", kind: "Shelf" };
  const create = async () => rig.create(shelves, { ...shelf, metadata: { name: "fruit", namespace: "default" } });
  await expect.poll(() => create().catch((error: unknown) => error), patience).toBeUndefined();
  const { metadata } = await rig.get<Stored>(`${shelves}/fruit`);
  const configMaps = "/api/v1/namespaces/default/configmaps";
  for (const [name, owner] of Object.entries({ owned: shelf, unknown: { ...shelf, kind: "Other" } })) {
    const ownerReferences = [{ ...owner, name: "fruit", uid: metadata.uid }];
    await rig.create(configMaps, { metadata: { name, namespace: "default", ownerReferences } });
  }
  // The collector has looked at both when it has removed an object that was created later.
  const ownerReferences = [{ ...shelf, name: "fruit", uid: "of-another" }];
  await rig.create(configMaps, { metadata: { name: "later", namespace: "default", ownerReferences } });
  await expect
    .poll(() => rig.get(`${configMaps}/later`).catch((error: unknown) => error), patience)
    .toMatchObject({ code: "not-found" });
  expect((await rig.get<Stored>(`${configMaps}/owned`)).metadata.name).toBe("owned");
  await rig.remove(`${shelves}/fruit`);
  await expect
    .poll(() => rig.get(`${configMaps}/owned`).catch((error: unknown) => error), patience)
    .toMatchObject({ code: "not-found" });
  expect((await rig.get<Stored>(`${configMaps}/unknown`)).metadata.name).toBe("unknown");
}, 120_000);

test("a StatefulSet has numbered pods, one after the other, and replaces them from the last on", async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  const { rig } = holder;
  const sets = "/apis/apps/v1/namespaces/default/statefulsets";
  const readinessProbe = { exec: { command: ["true"] }, periodSeconds: 1, timeoutSeconds: 10 };
  const container = { name: "main", image: "shell", command: ["sh", "-c", "exec sleep 1000"], readinessProbe };
  await rig.create(sets, {
    metadata: { name: "db", namespace },
    spec: { replicas: 2, serviceName: "db", ...template("db", container, { terminationGracePeriodSeconds: 1 }) },
  });
  const status = async () => (await rig.get<{ status?: object }>(`${sets}/db`)).status;
  await expect.poll(status, patience).toMatchObject({ replicas: 2, readyReplicas: 2, updatedReplicas: 2 });
  const byName = async () =>
    Object.fromEntries((await rig.pods("app=db")).map((pod) => [pod.metadata.name, pod] as const));
  const first = await byName();
  expect(Object.keys(first).sort()).toEqual(["db-0", "db-1"]);
  expect(first["db-1"]?.spec).toMatchObject({ hostname: "db-1", subdomain: "db" });
  expect(first["db-1"]?.metadata.labels).toMatchObject({ "apps.kubernetes.io/pod-index": "1" });
  const startOf = (name: string): number => Date.parse(first[name]?.status?.startTime ?? "");
  expect(startOf("db-1")).toBeGreaterThanOrEqual(startOf("db-0"));
  // Only pods from the partition on are replaced, under their names.
  const updateStrategy = { type: "RollingUpdate", rollingUpdate: { partition: 1 } };
  const annotated = { template: { metadata: { annotations: { restarted: "now" } } } };
  await rig.patch(`${sets}/db`, { spec: { updateStrategy, ...annotated } });
  await expect.poll(async () => (await byName())["db-1"]?.metadata.annotations?.["restarted"], patience).toBe("now");
  await expect.poll(status, patience).toMatchObject({ readyReplicas: 2, currentReplicas: 1, updatedReplicas: 1 });
  expect((await byName())["db-0"]?.metadata.uid).toBe(first["db-0"]?.metadata.uid);
  await rig.patch(`${sets}/db`, { spec: { replicas: 1 } });
  await expect.poll(async () => Object.keys(await byName()), patience).toEqual(["db-0"]);
  await rig.remove(`${sets}/db`);
  await expect.poll(async () => Object.keys(await byName()), patience).toEqual([]);
}, 180_000);

test("a DaemonSet has a pod on each node that its selector matches", async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  const { rig } = holder;
  const sets = "/apis/apps/v1/namespaces/default/daemonsets";
  const container = { name: "main", image: "shell", command: ["sh", "-c", "exec sleep 1000"] };
  await rig.create(sets, {
    metadata: { name: "agent", namespace },
    spec: template("agent", container, { terminationGracePeriodSeconds: 1 }),
  });
  const { items } = await rig.get<{ items: Stored[] }>("/api/v1/nodes");
  const nodes = items.map(({ metadata }) => metadata.name).sort();
  expect(nodes.length).toBeGreaterThan(1);
  const status = async () => (await rig.get<{ status?: object }>(`${sets}/agent`)).status;
  const places = async () => (await rig.pods("app=agent")).map(({ spec }) => spec.nodeName).sort();
  const all = { desiredNumberScheduled: nodes.length, numberReady: nodes.length, updatedNumberScheduled: nodes.length };
  await expect.poll(status, patience).toMatchObject(all);
  expect(await places()).toEqual(nodes);
  const before = (await rig.pods("app=agent")).map(({ metadata }) => metadata.uid);
  await rig.patch(`${sets}/agent`, { spec: { template: { metadata: { annotations: { restarted: "now" } } } } });
  const remaining = async () => (await rig.pods("app=agent")).filter(({ metadata }) => before.includes(metadata.uid));
  await expect.poll(async () => (await remaining()).length, patience).toBe(0);
  await expect.poll(status, patience).toMatchObject(all);
  await rig.patch(`${sets}/agent`, {
    spec: { template: { spec: { nodeSelector: { "kubernetes.io/hostname": nodes[0] } } } },
  });
  await expect.poll(places, patience).toEqual([nodes[0]]);
  await rig.remove(`${sets}/agent`);
  await expect.poll(places, patience).toEqual([]);
}, 180_000);
