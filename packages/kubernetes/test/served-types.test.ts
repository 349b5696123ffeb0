import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  type ApiClient,
  ApiError,
  createApiClient,
  patchObject,
  type ResourceType,
  ServedTypes,
} from "@istiod/kubernetes";
import { type ApiServer, startApiServer } from "@istiod/kubernetes/testing";
import { expect, onTestFinished, test, vi } from "vitest";

const until = { timeout: 20_000, interval: 10 };
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const carts = (versions: readonly string[], release = ""): string =>
  JSON.stringify({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "carts.shop.example", annotations: { release } },
    spec: {
      group: "shop.example",
      scope: "Namespaced",
      names: { kind: "Cart", plural: "carts", singular: "cart", listKind: "CartList" },
      versions: versions.map((name, i) => ({
        name,
        served: true,
        storage: i === 0,
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
      })),
    },
  });

function clientOf(server: Pick<ApiServer, "url">, token: string): ApiClient {
  const client = createApiClient({
    cluster: { name: "test", server: server.url, skipTLSVerify: false },
    user: { name: "user", token },
  });
  onTestFinished(() => client.close());
  return client;
}

/** Follows the types of a client's server. */
function follow(client: ApiClient, refreshMs?: number) {
  const reports: (readonly ResourceType[])[] = [];
  const unknowns: (readonly string[])[] = [];
  const errors: ApiError[] = [];
  const types = new ServedTypes({
    client,
    handler: {
      served: (served, unknown) => {
        reports.push(served);
        unknowns.push([...unknown]);
      },
      failed: (error) => void errors.push(error),
    },
    random: () => 0,
    ignores: ({ type, annotations }) => type.kind === "Cart" && annotations["release"] === "old",
    ...(refreshMs !== undefined && { refreshMs }),
  });
  onTestFinished(() => types.stop());
  types.start();
  const versionsOf = (plural: string): string[] =>
    (reports.at(-1) ?? []).filter((type) => type.plural === plural).map(({ version }) => version);
  return { reports, unknowns, errors, versionsOf, types };
}

async function start() {
  const server = await startApiServer({ bookmarkIntervalMs: 200 });
  onTestFinished(() => server.stop());
  return { server, admin: clientOf(server, server.tokens.admin) };
}

test("built-in types are served from the start", async () => {
  const { admin } = await start();
  const { reports } = follow(admin);
  await vi.waitFor(() => expect(reports).toHaveLength(1), until);
  expect(reports[0]).toEqual(
    expect.arrayContaining([
      { group: "", version: "v1", kind: "Pod", plural: "pods", namespaced: true },
      { group: "", version: "v1", kind: "Namespace", plural: "namespaces", namespaced: false },
      { group: "discovery.k8s.io", version: "v1", kind: "EndpointSlice", plural: "endpointslices", namespaced: true },
    ]),
  );
  expect(reports[0]?.filter(({ plural }) => plural.includes("/"))).toEqual([]);
});

test("a custom type begins when its definition is established, in each served version, and ends with it", async () => {
  const { admin } = await start();
  const { versionsOf, reports } = follow(admin);
  await vi.waitFor(() => expect(reports).toHaveLength(1), until);
  expect(versionsOf("carts")).toEqual([]);
  await admin.json({ method: "POST", path: definitions, body: carts(["v1", "v1beta1"]) });
  await vi.waitFor(() => expect(versionsOf("carts")).toEqual(["v1", "v1beta1"]), until);
  await admin.json({ method: "DELETE", path: `${definitions}/carts.shop.example` });
  await vi.waitFor(() => expect(versionsOf("carts")).toEqual([]), until);
  await admin.json({ method: "POST", path: definitions, body: carts(["v2"]) });
  await vi.waitFor(() => expect(versionsOf("carts")).toEqual(["v2"]), until);
});

test("a definition that is ignored serves nothing until it is replaced by one that is not", async () => {
  const { admin } = await start();
  await admin.json({ method: "POST", path: definitions, body: carts(["v1"], "old") });
  const { versionsOf, reports } = follow(admin, 50);
  await vi.waitFor(() => expect(reports).toHaveLength(1), until);
  expect(versionsOf("carts")).toEqual([]);
  const type = {
    group: "apiextensions.k8s.io",
    version: "v1",
    kind: "CustomResourceDefinition",
    plural: "customresourcedefinitions",
    namespaced: false,
  };
  const merge = { metadata: { annotations: { release: "new" } } };
  await patchObject(admin, type, { name: "carts.shop.example" }, { merge });
  await vi.waitFor(() => expect(versionsOf("carts")).toEqual(["v1"]), until);
});

test("failures end no type", async () => {
  const { server, admin } = await start();
  await admin.json({ method: "POST", path: definitions, body: carts(["v1"]) });
  const { versionsOf, errors, reports } = follow(admin, 50);
  await vi.waitFor(() => expect(versionsOf("carts")).toEqual(["v1"]), until);
  const before = reports.length;
  await server.faults.failRequests({ status: 503, times: 3, pathPrefix: "/api" });
  await server.faults.expireWatches();
  await vi.waitFor(() => expect(errors.length).toBeGreaterThan(0), until);
  await server.faults.clear();
  await admin.json({ method: "DELETE", path: `${definitions}/carts.shop.example` });
  await vi.waitFor(() => expect(versionsOf("carts")).toEqual([]), until);
  for (const types of reports.slice(before, -1)) expect(types.some(({ plural }) => plural === "carts")).toBe(true);
});

test("without permission to watch definitions, discovery alone tells the types", async () => {
  const server = await startApiServer({ users: { "token-of-a-reader": { username: "reader" } } });
  onTestFinished(() => server.stop());
  await clientOf(server, server.tokens.admin).json({ method: "POST", path: definitions, body: carts(["v1"]) });
  const { versionsOf } = follow(clientOf(server, "token-of-a-reader"), 50);
  await vi.waitFor(() => expect(versionsOf("carts")).toEqual(["v1"]), until);
});

/** A client with fixed answers, for servers of other versions. */
function answering(answers: () => Readonly<Record<string, unknown>>): ApiClient {
  const fail = (path: string): never => {
    throw new ApiError(
      path.includes("customresourcedefinitions") ? "forbidden" : "unavailable",
      `GET ${path}: refused`,
    );
  };
  return {
    server: "https://test",
    send: async ({ path }) => fail(path),
    json: async <T>({ path }: { path: string }) => (answers()[path] ?? fail(path)) as T,
    close: () => undefined,
  };
}

test("types of a version that is stale or unreadable stay as they were", async () => {
  const version = (freshness: string) => ({
    kind: "APIGroupDiscoveryList",
    items: [
      {
        metadata: { name: "metrics.example" },
        versions: [
          {
            version: "v1",
            freshness,
            resources:
              freshness === "Current"
                ? [{ resource: "loads", responseKind: { kind: "Load" }, scope: "Cluster" }]
                : undefined,
          },
        ],
      },
    ],
  });
  let freshness = "Current";
  let readings = 0;
  const client = answering(() => (readings++, { "/api": { versions: [] }, "/apis": version(freshness) }));
  const { versionsOf, reports } = follow(client, 5);
  await vi.waitFor(() => expect(versionsOf("loads")).toEqual(["v1"]), until);
  freshness = "Stale";
  const before = readings;
  await vi.waitFor(() => expect(readings).toBeGreaterThan(before + 3), until);
  expect(versionsOf("loads")).toEqual(["v1"]);
  expect(reports).toHaveLength(1);
});

test("servers without aggregated discovery are read version by version", async () => {
  const client = answering(() => ({
    "/api": { kind: "APIVersions", versions: ["v1"] },
    "/api/v1": {
      resources: [
        { name: "pods", kind: "Pod", namespaced: true },
        { name: "pods/status", kind: "Pod", namespaced: true },
      ],
    },
    "/apis": {
      kind: "APIGroupList",
      groups: [{ name: "apps", versions: [{ version: "v1" }, { version: "v1beta1" }] }],
    },
    "/apis/apps/v1": { resources: [{ name: "deployments", kind: "Deployment", namespaced: true }] },
  }));
  const { reports } = follow(client);
  await vi.waitFor(() => expect(reports).toHaveLength(1), until);
  expect(reports[0]).toEqual([
    { group: "", version: "v1", kind: "Pod", plural: "pods", namespaced: true },
    { group: "apps", version: "v1", kind: "Deployment", plural: "deployments", namespaced: true },
  ]);
});

test("a version whose types cannot be read at first is reported as unknown until it can", async () => {
  let isReadable = false;
  const client = answering(() => ({
    "/api": { kind: "APIVersions", versions: [] },
    "/apis": { kind: "APIGroupList", groups: [{ name: "apps", versions: [{ version: "v1" }] }] },
    ...(isReadable && {
      "/apis/apps/v1": { resources: [{ name: "deployments", kind: "Deployment", namespaced: true }] },
    }),
  }));
  const { reports, unknowns, versionsOf } = follow(client, 5);
  await vi.waitFor(() => expect(reports).toHaveLength(1), until);
  expect(unknowns).toEqual([["apps/v1"]]);
  isReadable = true;
  await vi.waitFor(() => expect(versionsOf("deployments")).toEqual(["v1"]), until);
  expect(unknowns).toEqual([["apps/v1"], []]);
});

test("many requests of one reading, and many readings, do not make Node.js warn of listeners", async () => {
  const warnings: string[] = [];
  const onWarning = ({ name }: Error): void => void warnings.push(name);
  process.on("warning", onWarning);
  onTestFinished(() => void process.off("warning", onWarning));
  let readings = 0;
  const versions = Array.from({ length: 20 }, (_, i) => ({ version: `v${i + 1}` }));
  const fake = createServer((request, response) => {
    const path = request.url ?? "";
    if (path.startsWith("/apis/apiextensions")) return void response.writeHead(403).end("{}");
    if (path === "/api") readings++;
    const groups = path === "/apis" ? [{ name: "shop.example", versions }] : [];
    const resources = path.startsWith("/apis/shop.example/") ? [{ name: "carts", kind: "Cart", namespaced: true }] : [];
    response.setHeader("content-type", "application/json").end(JSON.stringify({ groups, versions: [], resources }));
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void fake.close());
  await once(fake, "listening");
  const { port } = fake.address() as AddressInfo;
  const { versionsOf } = follow(clientOf({ url: `http://127.0.0.1:${port}` }, "token"), 1);
  await vi.waitFor(() => expect(versionsOf("carts")).toHaveLength(20), until);
  await vi.waitFor(() => expect(readings).toBeGreaterThan(12), until);
  expect(warnings).not.toContain("MaxListenersExceededWarning");
});
