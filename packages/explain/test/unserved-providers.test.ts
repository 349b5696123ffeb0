import { describe, expect, it } from "vitest";
import { faultsOf } from "../src/faults/faults.js";
import { omittedParts, providerFindings } from "../src/index.js";
import { meshOf, object, proxy, service, why } from "./mesh.js";

const telemetry = (spec: object, namespace = "shop"): string =>
  object("Telemetry", "all", spec as never, { namespace }).replace("networking.", "telemetry.");
const tracing = telemetry({ tracing: [{ providers: [{ name: "sink" }] }] });
const logging = telemetry({ accessLogging: [{ providers: [{ name: "file" }, { name: "sink" }] }] });
const entry = (more: object = {}): string =>
  object("ServiceEntry", "sink", {
    hosts: ["sink.example"],
    location: "MESH_EXTERNAL",
    resolution: "DNS",
    ports: [{ number: 9411, name: "http", protocol: "HTTP" }],
    ...more,
  } as never);
const sidecar = object("Sidecar", "own", { egress: [{ hosts: ["./cart.shop.svc.cluster.local"] }] } as never);
const removing = object("EnvoyFilter", "a", {
  configPatches: [
    { applyTo: "CLUSTER", match: { cluster: { service: "sink.example" } }, patch: { operation: "REMOVE" } },
  ],
} as never).replace('/v1"', '/v1alpha3"');

const ofTracing = { kind: "Telemetry", namespace: "shop", name: "all", field: "spec.tracing[0].providers[0].name" };
const ofLogging = { ...ofTracing, field: "spec.accessLogging[0].providers[1].name" };
const invisible = "service sink.example is not visible to the proxy";
const noCluster = "the proxy is served no cluster outbound|9411||sink.example";

interface Case {
  readonly kind: string;
  readonly yaml: string;
  /** The omitted part; undefined if the provider is served. */
  readonly part?: object;
  readonly reason?: string;
  /** True if a finding of the mesh tells already. */
  readonly isUnknown?: boolean;
  readonly defaults?: object;
}

const cases: Readonly<Record<string, Case>> = {
  "a tracer that is served": { kind: "zipkin", yaml: tracing + entry() },
  "a tracer that the Sidecar hides": {
    kind: "zipkin",
    yaml: tracing + entry() + sidecar,
    part: ofTracing,
    reason: invisible,
  },
  "a tracer that is not exported": {
    kind: "datadog",
    yaml: tracing + entry({ exportTo: ["~"] }),
    part: ofTracing,
    reason: invisible,
  },
  "a tracer over gRPC": {
    kind: "opentelemetry",
    yaml: tracing + entry() + sidecar,
    part: ofTracing,
    reason: invisible,
  },
  "a tracer whose cluster an EnvoyFilter removes": {
    kind: "skywalking",
    yaml: tracing + entry() + removing,
    part: ofTracing,
    reason: noCluster,
  },
  "a tracer at a port that its service lacks": {
    kind: "zipkin",
    yaml: tracing + entry({ ports: [{ number: 80, name: "http", protocol: "HTTP" }] }),
    part: ofTracing,
    reason: "service sink.example has no port 9411, but 80",
    isUnknown: true,
  },
  "a tracer that is switched off": {
    kind: "zipkin",
    yaml: telemetry({ tracing: [{ providers: [{ name: "sink" }], disableSpanReporting: true }] }) + entry() + sidecar,
  },
  "logs that are served": { kind: "envoyHttpAls", yaml: logging + entry() },
  "logs that the Sidecar hides": {
    kind: "envoyHttpAls",
    yaml: logging + entry() + sidecar,
    part: ofLogging,
    reason: invisible,
  },
  "logs over TCP without endpoints": {
    kind: "envoyTcpAls",
    yaml: logging + entry({ location: "MESH_INTERNAL", workloadSelector: { labels: { app: "sink" } } }),
    part: ofLogging,
    reason: noCluster,
  },
  "logs to OpenTelemetry that are not exported": {
    kind: "envoyOtelAls",
    yaml: logging + entry({ exportTo: ["~"] }),
    part: ofLogging,
    reason: invisible,
  },
  "logs that are switched off": {
    kind: "envoyHttpAls",
    yaml: telemetry({ accessLogging: [{ providers: [{ name: "sink" }], disabled: true }] }) + entry() + sidecar,
  },
  "a default of the mesh": {
    kind: "zipkin",
    yaml: entry() + sidecar,
    defaults: { tracing: ["sink"] },
    part: { kind: "MeshConfig", namespace: "istio-system", name: "meshconfig", field: "defaultProviders.tracing[0]" },
    reason: invisible,
  },
  "a default that a Telemetry of the namespace names, too": {
    kind: "envoyHttpAls",
    yaml: logging + entry() + sidecar,
    defaults: { accessLogging: ["sink"] },
    part: ofLogging,
    reason: invisible,
  },
};

describe("a provider whose cluster a proxy lacks is told of:", () => {
  it.each(Object.entries(cases))("%s", (_, { kind, yaml, part, reason, isUnknown = false, defaults = {} }) => {
    const db = meshOf(service("cart") + yaml, {
      extensionProviders: [
        { name: "sink", [kind]: { service: "sink.example", port: 9411 } },
        { name: "file", envoyFileAccessLog: { path: "/dev/stdout" } },
      ],
      defaultProviders: defaults as never,
    });
    const clients = [proxy(), proxy("sidecar", "shop", { app: "web" })].map((each) => ({
      proxy: each,
      view: db.view(each),
    }));
    const parts = omittedParts(clients).filter((each) => each.kind !== "EnvoyFilter");
    if (part === undefined || reason === undefined) {
      expect(parts).toEqual([]);
      expect(providerFindings(clients)).toEqual([]);
      return;
    }
    const { field } = part as { readonly field: string };
    expect(parts).toMatchObject([{ ...part, reason: `${field} has no effect: ${reason}`, proxies: 2 }]);
    const messages = providerFindings(clients).map(({ code, message }) => [code, message]);
    const { nodeId } = proxy();
    expect(messages).toEqual(
      isUnknown ? [] : [["MESH0068", `provider "sink" has no effect on 2 proxies, such as ${nodeId}: ${reason}`]],
    );
    const faults = faultsOf({ duplicateSubsets: [], withoutPod: [], notReady: [] } as never, clients);
    expect([...faults.istiod_omitted_config_parts.values()]).toContainEqual({
      proxy: nodeId,
      message: `${field} has no effect: ${reason}`,
    });
  });

  it("for the proxies alone that lack it", () => {
    const db = meshOf(
      service("cart") + telemetry({ tracing: [{ providers: [{ name: "sink" }] }] }, "istio-system") + entry() + sidecar,
      {
        extensionProviders: [{ name: "sink", zipkin: { service: "sink.example", port: 9411 } }],
      },
    );
    const clients = [proxy(), proxy("sidecar", "other")].map((each) => ({ proxy: each, view: db.view(each) }));
    expect(omittedParts(clients)).toMatchObject([
      { kind: "Telemetry", namespace: "istio-system", proxies: 1, proxy: proxy().nodeId },
    ]);
  });

  it("in the explanation of a listener for which the provider is", () => {
    const db = meshOf(
      service("cart") +
        object("ServiceEntry", "db", {
          hosts: ["db.example"],
          location: "MESH_EXTERNAL",
          resolution: "DNS",
          ports: [{ number: 5432, name: "tcp", protocol: "TCP" }],
        } as never) +
        telemetry({
          tracing: [{ match: { mode: "CLIENT" }, providers: [{ name: "spans" }] }],
          accessLogging: [{ match: { mode: "SERVER" }, providers: [{ name: "logs" }] }],
        }) +
        entry({ exportTo: ["~"] }),
      {
        extensionProviders: [
          { name: "spans", zipkin: { service: "sink.example", port: 9411 } },
          { name: "logs", envoyOtelAls: { service: "sink.example", port: 9411 } },
        ],
      },
    );
    const fieldsAt = (listener: string): readonly unknown[] =>
      why(db, proxy(), "lds", listener).ignored.map(({ field }) => field);
    expect(fieldsAt("virtualInbound")).toEqual(["spec.accessLogging[0].providers[0].name"]);
    expect(fieldsAt("0.0.0.0_80")).toEqual(["spec.tracing[0].providers[0].name"]);
    expect(fieldsAt("0.0.0.0_5432")).toEqual([]);
  });
});
