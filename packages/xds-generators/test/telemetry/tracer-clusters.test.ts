import { productBounds } from "@istiod/config-schema";
import { describe, expect, it } from "vitest";
import { httpChain, listenerOf, managerOf } from "../listeners/listener-parts.js";
import { destinationRule, istioYaml, podYaml, serviceEntry, serviceYaml } from "../mesh-yaml.js";
import { clusterType, TestMesh } from "../mesh.js";
import { envoyFilter } from "../patches/envoy-filter-yaml.js";

const web = serviceYaml("web") + podYaml("web", "10.1.0.1");
const traces = istioYaml("Telemetry", "traces", { tracing: [{ providers: [{ name: "tracer" }] }] }).replace(
  "networking.",
  "telemetry.",
);
const port = (number: number, protocol = "HTTP"): object => ({ number, name: `p-${number}`, protocol });
const entry = (spec: object): string =>
  serviceEntry("tracer", { hosts: ["tracer.example"], ports: [port(9411)], location: "MESH_EXTERNAL", ...spec });
const dns = { resolution: "DNS" };
const workloadEntry = istioYaml("WorkloadEntry", "tracer", {
  address: "tracer.other.example",
  labels: { app: "tracer" },
});
const selected = entry({ ...dns, location: "MESH_INTERNAL", workloadSelector: { labels: { app: "tracer" } } });
const names = Array.from({ length: 2000 }, (_, i) => `spiffe://cluster.local/ns/shop/sa/name-${i}`);
const rule = (subjectAltNames: readonly string[]): string =>
  destinationRule("tracer.example", { trafficPolicy: { tls: { mode: "SIMPLE", subjectAltNames } } });
const manyPorts = entry({ ...dns, ports: Array.from({ length: 10 }, (_, i) => port(9411 + i)) });
const pool = serviceYaml("pool", {
  ip: "None",
  ports: ["http-0:9410:8000", "http-1:9411:8001"],
  labels: { "internal.istio.io/service-semantics": "inferencepool", "istio.io/inferencepool-name": "pool" },
});
const wildcard = (name: string, of: object, resolution: string): string =>
  serviceEntry(name, { hosts: ["*.example"], ports: [of], location: "MESH_EXTERNAL", resolution });
const wildcards = wildcard("a", port(9410), "DYNAMIC_DNS") + wildcard("b", port(9411, "TCP"), "NONE");
const sidecar = (...hosts: readonly string[]): string => istioYaml("Sidecar", "own", { egress: [{ hosts }] });
const removing = (service: string): string =>
  envoyFilter("remove", [
    {
      applyTo: "CLUSTER",
      match: { context: "SIDECAR_OUTBOUND", cluster: { service } },
      patch: { operation: "REMOVE" },
    },
  ]);
const adding = envoyFilter("add", [
  {
    applyTo: "CLUSTER",
    match: { context: "SIDECAR_OUTBOUND" },
    patch: { operation: "ADD", value: { name: "outbound|9411||tracer.example", type: "STATIC" } },
  },
]);

interface Omission {
  /** A mesh without the tracer's cluster, and one with it. */
  readonly without: string;
  readonly served: string;
  readonly service?: string;
  readonly servedPort?: number;
}

/** The reasons for which a port of a known service has no cluster. */
const omissions: Readonly<Record<string, Omission>> = {
  "a DNS service that selects no workload": { without: selected, served: selected + workloadEntry },
  "a UDP port": {
    without: serviceYaml("tracer", { ports: ["udp:9411"] }),
    served: serviceYaml("tracer", { ports: ["udp:9411", "http:9411"] }),
    service: "tracer.shop.svc.cluster.local",
  },
  "a service whose DestinationRule is too large": {
    without: manyPorts + rule(names),
    served: manyPorts + rule(names.slice(0, 2)),
  },
  "a port of an InferencePool after the first": {
    without: pool,
    served: pool,
    service: "pool.shop.svc.cluster.local",
    servedPort: 9410,
  },
  "a port of a wildcard whose hosts are not known": {
    without: wildcards,
    served: wildcards,
    service: "*.example",
    servedPort: 9410,
  },
  "a port that the service does not have": {
    without: entry({ ...dns, ports: [port(9412)] }),
    served: entry({ ...dns, ports: [port(9412)] }),
    servedPort: 9412,
  },
  "a service that the Sidecar does not import": {
    without: entry(dns) + sidecar("./web.shop.svc.cluster.local"),
    served: entry(dns) + sidecar("./*"),
  },
  "a service that is not exported": {
    without: entry({ ...dns, exportTo: ["~"] }),
    served: entry({ ...dns, exportTo: ["."] }),
  },
  "a cluster that an EnvoyFilter removes": {
    without: entry(dns) + removing("tracer.example"),
    served: entry(dns) + removing("other.example"),
  },
  "a service without endpoints, unless an EnvoyFilter adds its cluster": {
    without: selected,
    served: selected + adding,
  },
};

describe.each(["zipkin", "datadog"])("a tracer %s is left out with its cluster, for", (kind) => {
  const stateOf = (yaml: string, service: string, at: number): object => {
    const config = { extensionProviders: [{ name: "tracer", [kind]: { service, port: at } }] };
    const mesh = new TestMesh(web + traces + yaml, config as never);
    mesh.set(productBounds.rulePolicyBytes.variable, "100000");
    const proxy = mesh.proxy({ ip: "10.1.0.1", name: "web-10-1-0-1" });
    return {
      cluster: proxy.names(clusterType).includes(`outbound|${at}||${service}`),
      tracer: managerOf(httpChain(listenerOf(proxy, "virtualInbound"))).tracing?.provider.name,
    };
  };

  it.each(Object.entries(omissions))("%s", (_, { without, served, service = "tracer.example", servedPort = 9411 }) => {
    expect(stateOf(without, service, 9411)).toEqual({ cluster: false, tracer: undefined });
    expect(stateOf(served, service, servedPort)).toEqual({ cluster: true, tracer: `envoy.tracers.${kind}` });
  });
});
