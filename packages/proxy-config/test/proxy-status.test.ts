import { ProxyConfigError, proxyStatusTable, readProxyStatuses } from "@istiod/proxy-config";
import { expect, test } from "vitest";

const at = Date.parse("2026-01-02T03:04:05Z");
const envoy = (name: string): string => `type.googleapis.com/envoy.config.${name}`;
const ago = (seconds: number): string => new Date(at - seconds * 1000).toISOString();

const response = (resources: readonly object[]): string =>
  JSON.stringify({
    typeUrl: "istio.io/debug/syncz",
    controlPlane: { identifier: JSON.stringify({ Component: "istiod", ID: "istiod-7", Info: { version: "1.30" } }) },
    resources,
  });

const proxy = (id: string, namespace: string, genericXdsConfigs: readonly object[]): object => ({
  "@type": "type.googleapis.com/envoy.service.status.v3.ClientConfig",
  node: { id, metadata: { NAMESPACE: namespace, CLUSTER_ID: "Kubernetes", ISTIO_VERSION: "1.29.1" } },
  genericXdsConfigs,
});

const text = response([
  proxy("web.shop", "shop", [
    { typeUrl: envoy("route.v3.RouteConfiguration"), configStatus: "STALE", lastUpdated: ago(59) },
    { typeUrl: envoy("cluster.v3.Cluster"), configStatus: "SYNCED", lastUpdated: ago(301) },
    {
      typeUrl: "type.googleapis.com/istio.networking.nds.v1.NameTable",
      configStatus: "ERROR",
      lastUpdated: ago(3 * 86_400),
    },
    { typeUrl: envoy("listener.v3.Listener"), configStatus: "NOT_SENT" },
  ]),
  proxy("card.pay", "pay", []),
]);

test("tabulates proxies with the types that they subscribe to", () => {
  expect(proxyStatusTable(readProxyStatuses(text))).toEqual([
    ["NAME", "CLUSTER", "ISTIOD", "VERSION", "SUBSCRIBED TYPES"],
    ["card.pay", "Kubernetes", "istiod-7", "1.29.1", "0"],
    ["web.shop", "Kubernetes", "istiod-7", "1.29.1", "4 (CDS,LDS,RDS,NDS)"],
  ]);
});

test("tabulates the status of each type with its age", () => {
  expect(proxyStatusTable(readProxyStatuses(text, "shop"), { verbose: true, now: at })).toEqual([
    ["NAME", "CLUSTER", "CDS", "ECDS", "EDS", "LDS", "RDS", "NDS", "ISTIOD", "VERSION"],
    [
      "web.shop",
      "Kubernetes",
      "SYNCED (5m1s)",
      "IGNORED",
      "IGNORED",
      "NOT SENT",
      "STALE (59s)",
      "ERROR (3d)",
      "istiod-7",
      "1.29.1",
    ],
  ]);
});

test("omits proxies of other namespaces from the response", () => {
  const { response: kept } = readProxyStatuses(text, "pay");
  expect(kept["resources"]).toMatchObject([{ node: { id: "card.pay" } }]);
  expect(kept["controlPlane"]).toMatchObject({ identifier: expect.stringContaining("istiod-7") });
});

test("marks a control plane without identifier", () => {
  const of = (controlPlane: object): string | undefined =>
    readProxyStatuses(JSON.stringify({ ...(JSON.parse(text) as object), ...controlPlane })).proxies[0]?.istiod;
  expect(of({ controlPlane: undefined })).toBe("MISSING");
  expect(of({ controlPlane: { identifier: "istiod-7" } })).toBe("INVALID");
  expect(() => readProxyStatuses("none")).toThrow(ProxyConfigError);
});

test.each([
  [-5, "<invalid>"],
  [-1, "0s"],
  [119, "119s"],
  [120, "2m"],
  [179 * 60, "179m"],
  [3 * 3600, "3h"],
  [7 * 3600 + 60, "7h1m"],
  [47 * 3600, "47h"],
  [7 * 86_400 + 3600, "7d1h"],
  [700 * 86_400, "700d"],
  [3 * 365 * 86_400 + 86_400, "3y1d"],
  [9 * 365 * 86_400, "9y"],
])("an age of %i seconds is written as %s", (seconds, expected) => {
  const [, row] = proxyStatusTable(
    readProxyStatuses(
      response([
        proxy("p", "n", [{ typeUrl: envoy("cluster.v3.Cluster"), configStatus: "SYNCED", lastUpdated: ago(seconds) }]),
      ]),
    ),
    { verbose: true, now: at },
  );
  expect(row?.[2]).toBe(`SYNCED (${expected})`);
});
