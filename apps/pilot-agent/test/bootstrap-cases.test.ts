import { existsSync, readFileSync } from "node:fs";
import { create, createRegistry, equals, fromJson, type JsonObject, toJson } from "@bufbuild/protobuf";
import { BootstrapSchema } from "@istiod/envoy-api/envoy/config/bootstrap/v3/bootstrap";
import { registry as envoyTypes } from "@istiod/envoy-api/registry";
import { ProxyConfigSchema } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import type { CompliancePolicy } from "@istiod/settings";
import { afterAll, describe, expect, it } from "vitest";
import { buildBootstrap } from "../src/bootstrap/bootstrap.js";
import { buildNodeMetadata } from "../src/node/metadata.js";
import { overlay } from "../src/proxy-config/overlay.js";

const folder = new URL("../../../../shared/peer/bootstrap/", import.meta.url);
const registry = createRegistry(envoyTypes);

interface Case {
  readonly base: string;
  readonly envVars?: string;
  readonly annotations?: string;
  readonly compliancePolicy?: CompliancePolicy;
}

/** Constants that the cases refer to. */
const CONSTANTS: Readonly<Record<string, string>> = {
  GlobalDownstreamMaxConnections: "ISTIO_META_GLOBAL_DOWNSTREAM_MAX_CONNECTIONS",
  upstreamStatsSuffixes:
    "upstream_rq_1xx,upstream_rq_2xx,upstream_rq_3xx,upstream_rq_4xx,upstream_rq_5xx,upstream_rq_time,upstream_cx_tx_bytes_total,upstream_cx_rx_bytes_total,upstream_cx_total",
  downstreamStatsSuffixes:
    "downstream_rq_1xx,downstream_rq_2xx,downstream_rq_3xx,downstream_rq_4xx,downstream_rq_5xx,downstream_rq_time,downstream_cx_tx_bytes_total,downstream_cx_rx_bytes_total,downstream_cx_total",
};

/** Parses `key: value, ...`, where each side is a sum of string literals and constants. */
function readMap(source = ""): Record<string, string> {
  const tokens = source.match(/\/\/[^\n]*|"(?:[^"\\]|\\.)*"|`[^`]*`|[A-Za-z]\w*|[:,+]/g) ?? [];
  const map: Record<string, string> = {};
  let [key, value, side] = ["", "", 0];
  for (const token of [...tokens.filter((t) => !t.startsWith("//")), ","]) {
    if (token === ",") {
      if (side === 1) map[key] = value;
      [key, value, side] = ["", "", 0];
    } else if (token === ":") side = 1;
    else if (token !== "+") {
      const text = token.startsWith('"')
        ? (JSON.parse(token) as string)
        : token.startsWith("`")
          ? token.slice(1, -1)
          : CONSTANTS[token]!;
      if (side === 0) key += text;
      else value += text;
    }
  }
  return map;
}

/** Values of the recorded run that depend on the machine. */
function asRecorded(bootstrap: JsonObject, locality: boolean): JsonObject {
  const text = JSON.stringify(bootstrap).replace(/"path":"[^"]*\/XDS"/, '"path":"/tmp/XDS"');
  const value = JSON.parse(text) as JsonObject;
  if (!locality) (value["node"] as Record<string, unknown>)["locality"] = {};
  return value;
}

describe("bootstrap equals the reference", () => {
  const cases = existsSync(folder) ? (JSON.parse(readFileSync(new URL("cases.json", folder), "utf8")) as Case[]) : [];
  let equal = 0;
  it("in the reference cases", ({ skip }) =>
    skip(cases.length === 0, "no ../shared/peer/bootstrap next to the repository"));
  afterAll(() => console.log(`bootstrap cases equal to the reference: ${equal} of ${cases.length}`));

  it.each(cases.map((one) => [one.base, one] as const))("%s", (base, one) => {
    const golden = JSON.parse(readFileSync(new URL(`${base}_golden.json`, folder), "utf8")) as JsonObject;
    const recorded = (golden["node"] as { metadata: { PROXY_CONFIG: JsonObject } }).metadata;
    const proxyConfig = overlay(create(ProxyConfigSchema), JSON.stringify(recorded.PROXY_CONFIG), base);
    const addresses = ["10.3.3.3", "10.4.4.4", "10.5.5.5", "10.6.6.6", "10.4.4.4"];
    const { ISTIO_META_GLOBAL_DOWNSTREAM_MAX_CONNECTIONS: _, ...given } = readMap(one.envVars);
    const env: Record<string, string> = {
      ...given,
      ...(one.annotations ? { ISTIO_METAJSON_ANNOTATIONS: JSON.stringify(readMap(one.annotations)) } : {}),
    };
    const node = buildNodeMetadata({
      env,
      proxyConfig,
      addresses,
      podAnnotations: readMap(one.annotations),
      version: "binary-1.0",
      pilotSubjectAltNames: ["spiffe://cluster.local/ns/istio-system/sa/istio-pilot-service-account"],
      outlierLogPath: "/dev/stdout",
      statusPort: 15021,
      prometheusPort: 15090,
      workloadIdentitySocket: "test.sock",
    });
    const bootstrap = buildBootstrap({
      nodeId: "sidecar~1.2.3.4~foo~bar",
      node,
      proxyConfig,
      addresses,
      namespace: env["POD_NAMESPACE"] ?? "",
      workloadName: "",
      statusPort: 15021,
      prometheusPort: 15090,
      sdsSocket: "./var/run/secrets/workload-spiffe-uds/test.sock",
      xdsSocket: "/tmp/XDS",
      outlierLogPath: "/dev/stdout",
      ...(one.compliancePolicy ? { compliancePolicy: one.compliancePolicy } : {}),
    });
    const options = { registry, ignoreUnknownFields: false };
    const ours = fromJson(BootstrapSchema, asRecorded(bootstrap, base === "running"), options);
    const theirs = fromJson(BootstrapSchema, asRecorded(golden, base === "running"), options);
    expect(toJson(BootstrapSchema, ours, options)).toEqual(toJson(BootstrapSchema, theirs, options));
    expect(equals(BootstrapSchema, ours, theirs, { registry })).toBe(true);
    equal++;
  });
});
