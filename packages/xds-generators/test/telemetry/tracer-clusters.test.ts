import { applyChanges, productBounds, readText } from "@istiod/config-schema";
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
  readonly with: string;
  readonly service?: string;
  /** The port that has a cluster. */
  readonly port?: number;
}

/** The reasons for which a port of a known service has no cluster. */
const omissions: Readonly<Record<string, Omission>> = {
  "a DNS service that selects no workload": { without: selected, with: selected + workloadEntry },
  "a UDP port": {
    without: serviceYaml("tracer", { ports: ["udp:9411"] }),
    with: serviceYaml("tracer", { ports: ["udp:9411", "http:9411"] }),
    service: "tracer.shop.svc.cluster.local",
  },
  "a service whose DestinationRule is too large": {
    without: manyPorts + rule(names),
    with: manyPorts + rule(names.slice(0, 2)),
  },
  "a port of an InferencePool after the first": {
    without: pool,
    with: pool,
    service: "pool.shop.svc.cluster.local",
    port: 9410,
  },
  "a port that the service does not have": {
    without: entry({ ...dns, ports: [port(9412)] }),
    with: entry({ ...dns, ports: [port(9412)] }),
    port: 9412,
  },
  "a service that the Sidecar does not import": {
    without: entry(dns) + sidecar("./web.shop.svc.cluster.local"),
    with: entry(dns) + sidecar("./*"),
  },
  "a service that is not exported": {
    without: entry({ ...dns, exportTo: ["~"] }),
    with: entry({ ...dns, exportTo: ["."] }),
  },
  "a cluster that an EnvoyFilter removes": {
    without: entry(dns) + removing("tracer.example"),
    with: entry(dns) + removing("other.example"),
  },
  "a service without endpoints, unless an EnvoyFilter adds its cluster": {
    without: selected,
    with: selected + adding,
  },
};

describe.each(["zipkin", "datadog"])("a tracer %s is left out with its cluster, for", (kind) => {
  const meshOf = (yaml: string, service: string, at: number): TestMesh => {
    const config = { extensionProviders: [{ name: "tracer", [kind]: { service, port: at } }] };
    return new TestMesh(web + traces + yaml, config as never).set(productBounds.rulePolicyBytes.variable, "100000");
  };
  const stateOf = (mesh: TestMesh, cluster: string): object => {
    const proxy = mesh.proxy({ ip: "10.1.0.1", name: "web-10-1-0-1" });
    return {
      cluster: proxy.names(clusterType).includes(cluster),
      tracer: managerOf(httpChain(listenerOf(proxy, "virtualInbound"))).tracing?.provider.name,
    };
  };
  const missing = { cluster: false, tracer: undefined };
  const served = { cluster: true, tracer: `envoy.tracers.${kind}` };

  it.each(Object.entries(omissions))(
    "%s",
    (_, { without, with: having, service = "tracer.example", port: at = 9411 }) => {
      expect(stateOf(meshOf(without, service, 9411), `outbound|9411||${service}`)).toEqual(missing);
      expect(stateOf(meshOf(having, service, at), `outbound|${at}||${service}`)).toEqual(served);
    },
  );

  it("a port of a wildcard that is not resolvable, which validation rejects", () => {
    const wildcard = serviceEntry("tracer", {
      hosts: ["*.example"],
      ports: [port(9411)],
      ...{ location: "MESH_EXTERNAL", resolution: "DYNAMIC_DNS" },
    });
    const mesh = meshOf(wildcard, "*.example", 9411);
    expect(stateOf(mesh, "outbound|9411||*.example")).toEqual(served);
    const [change] = readText(wildcard, "test.yaml").flatMap(({ objects }) => objects);
    const { spec } = change?.object as unknown as { readonly spec: { readonly ports: { protocol: string }[] } };
    for (const each of spec.ports) each.protocol = "TCP";
    mesh.db.commit((tx) => applyChanges(tx, change === undefined ? [] : [change]));
    expect(stateOf(mesh, "outbound|9411||*.example")).toEqual(missing);
  });
});
