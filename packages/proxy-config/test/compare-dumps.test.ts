import type { JsonObject } from "@bufbuild/protobuf";
import { type ConfigDump, configDump, compareDumps, formatComparison } from "@istiod/proxy-config";
import { expect, test } from "vitest";

const clusterType = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
const admin = "type.googleapis.com/envoy.admin.v3";

function dump(clusters: readonly JsonObject[], lastUpdated?: string): ConfigDump {
  const configs = [
    {
      "@type": `${admin}.ClustersConfigDump`,
      static_clusters: [{ cluster: { name: "own" } }],
      dynamic_active_clusters: clusters.map((cluster) => ({
        version_info: String(lastUpdated),
        cluster: { "@type": clusterType, ...cluster },
      })),
    },
    {
      "@type": `${admin}.ListenersConfigDump`,
      dynamic_listeners: [
        { name: "l", active_state: { listener: { name: "l" } }, draining_state: { listener: { name: "old" } } },
      ],
    },
    {
      "@type": `${admin}.RoutesConfigDump`,
      dynamic_route_configs: [{ route_config: { name: "80" }, ...(lastUpdated && { last_updated: lastUpdated }) }],
    },
  ];
  return configDump({ configs });
}

const a = { name: "a", connect_timeout: "1s" };
const b = { name: "b", type: "EDS", connect_timeout: "2s" };

test("dumps match regardless of the order of resources and fields, and of versions", () => {
  const text = formatComparison(
    compareDumps(
      dump([a, b]),
      dump([{ connect_timeout: "2s", type: "EDS", name: "b" }, a], "2026-01-02T03:04:05.678Z"),
    ),
  );
  expect(text).toBe(
    "Clusters Match\nListeners Match\nRoutes Match (RDS last loaded at Fri, 02 Jan 2026 03:04:05 UTC)\n",
  );
});

test("differences are a unified diff", () => {
  const [clusters, listeners] = compareDumps(dump([a, b]), dump([a, { ...b, connect_timeout: "3s" }]));
  expect(listeners).toEqual({ part: "Listeners", diff: "", lastUpdated: undefined });
  expect(clusters?.diff.split("\n").slice(0, 2)).toEqual(["--- Istiod Clusters", "+++ Envoy Clusters"]);
  expect(clusters?.diff).toContain('-        "connectTimeout": "2s",\n+        "connectTimeout": "3s",\n');
  expect(formatComparison(compareDumps(dump([a]), dump([])))).toMatch(
    /^Clusters Don't Match\n--- Istiod Clusters\n[^]*-        "name": "a"\n[^]*\nListeners Match\nRoutes Match\n$/,
  );
});
