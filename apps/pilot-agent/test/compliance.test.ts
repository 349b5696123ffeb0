import type { SecureContextOptions, TLSSocket } from "node:tls";
import { join } from "node:path";
import { fromJson } from "@bufbuild/protobuf";
import { ProxyConfigSchema } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { complianceLimits } from "@istiod/settings";
import { describe, expect, it } from "vitest";
import { buildBootstrap } from "../src/bootstrap/bootstrap.js";
import { caEndpoint, discoveryTls } from "../src/control-plane.js";
import { readOptions } from "../src/index.js";
import { buildNodeMetadata } from "../src/node/metadata.js";
import { defaultProxyConfig } from "../src/proxy-config/defaults.js";
import { overlay } from "../src/proxy-config/overlay.js";
import { FakeIstiod, put, scratch } from "./fakes.js";
import { startedAgent } from "./proxyless-agent.js";

const FIPS_SUITES = [
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
];

/** Reports whether this Node.js has the curve of the policy pqc. */
const hasPostQuantumCurve = (() => {
  try {
    complianceLimits("pqc", { use: "this test", alternative: "skip it" });
    return true;
  } catch {
    return false;
  }
})();

describe("COMPLIANCE_POLICY", () => {
  it.each<[string, SecureContextOptions, string | undefined]>([
    ["", { ciphers: "TLS_CHACHA20_POLY1305_SHA256", ecdhCurve: "X25519" }, "TLSv1.3 TLS_CHACHA20_POLY1305_SHA256"],
    ["fips-140-2", {}, "TLSv1.2 ECDHE-ECDSA-AES128-GCM-SHA256"],
    ["fips-140-2", { minVersion: "TLSv1.3" }, undefined],
    ["fips-140-2", { ciphers: "ECDHE-ECDSA-CHACHA20-POLY1305" }, undefined],
    ["fips-140-2", { ecdhCurve: "P-384" }, undefined],
    ["fips-140-3", { ecdhCurve: "P-384" }, "TLSv1.3 TLS_AES_256_GCM_SHA384"],
    ["fips-140-3", { ciphers: "TLS_CHACHA20_POLY1305_SHA256", minVersion: "TLSv1.3" }, undefined],
    ["fips-140-3", { ecdhCurve: "X25519" }, undefined],
  ])("%j allows a connection to an authority with %j as %s", async (policy, serving, expected) => {
    const istiod = await FakeIstiod.start({}, { serving });
    const sessions: string[] = [];
    istiod.onSession = ({ socket }) => {
      const { name } = (socket as TLSSocket).getCipher();
      sessions.push(`${(socket as TLSSocket).getProtocol() ?? ""} ${name}`);
    };
    const { metric } = await startedAgent(istiod, { env: { COMPLIANCE_POLICY: policy } });
    const failed = 'num_failed_outgoing_requests{request_type="CSR"}';
    if (expected === undefined) await expect.poll(() => metric(failed)).toBe(1);
    else await expect.poll(() => metric('num_outgoing_requests{request_type="CSR"}')).toBe(1);
    expect(sessions).toEqual(expected === undefined ? [] : [expected]);
  });

  it("refuses to start where Node.js has no such curve, unless istiod is reached in plaintext", async ({ skip }) => {
    const directory = await scratch();
    await put(join(directory, "var/run/secrets/istio/root-cert.pem"), "x");
    const options = readOptions({}, { AGENT_DIRECTORY: directory, COMPLIANCE_POLICY: "pqc" });
    const plaintext = overlay(
      defaultProxyConfig(),
      "{controlPlaneAuthPolicy: NONE, discoveryAddress: 'istiod:15010'}",
      "x",
    );
    expect(discoveryTls(options, plaintext)).toBeUndefined();
    expect(caEndpoint(options, plaintext)).toEqual({ address: "istiod:15010" });
    skip(hasPostQuantumCurve, "this Node.js has X25519MLKEM768");
    for (const of of [discoveryTls, caEndpoint])
      expect(() => of(options, defaultProxyConfig())).toThrow(
        `COMPLIANCE_POLICY=pqc needs X25519MLKEM768 for connections to istiod, which Node.js ${process.versions.node} does not have; use a newer Node.js, or connect to it in plaintext`,
      );
  });

  it("pqc limits connections to TLS 1.3 with that curve where Node.js has it", async ({ skip }) => {
    skip(!hasPostQuantumCurve, "this Node.js does not have X25519MLKEM768");
    const istiod = await FakeIstiod.start();
    const { metric } = await startedAgent(istiod, { env: { COMPLIANCE_POLICY: "pqc" } });
    await expect.poll(() => metric('num_outgoing_requests{request_type="CSR"}')).toBe(1);
    expect(await metric('num_failed_outgoing_requests{request_type="CSR"}')).toBeUndefined();
  });

  it.each([
    ["" as const, undefined, undefined],
    ["fips-140-2" as const, { tls_minimum_protocol_version: "TLSv1_2", tls_maximum_protocol_version: "TLSv1_2" }, true],
    ["fips-140-3" as const, { compliance_policies: ["FIPS_202205"] }, undefined],
    [
      "pqc" as const,
      { tls_minimum_protocol_version: "TLSv1_3", cipher_suites: FIPS_SUITES, ecdh_curves: ["X25519MLKEM768"] },
      undefined,
    ],
  ])("%j is in every TLS context of the bootstrap", (policy, parameters, disablesTls13) => {
    const proxyConfig = fromJson(ProxyConfigSchema, {
      proxyAdminPort: 15000,
      statusPort: 15020,
      envoyMetricsService: { address: "metrics:1", tlsSettings: { mode: "ISTIO_MUTUAL" } },
      tracing: { zipkin: { address: "zipkin:1" }, tlsSettings: { mode: "SIMPLE", caCertificates: "/ca.pem" } },
    });
    const bootstrap = buildBootstrap({
      nodeId: "sidecar~10.0.0.1~a.b~c",
      node: buildNodeMetadata({
        env: {},
        proxyConfig,
        addresses: ["10.0.0.1"],
        version: "1",
        pilotSubjectAltNames: [],
        outlierLogPath: "",
        statusPort: 15021,
        prometheusPort: 15090,
        workloadIdentitySocket: "socket",
      }),
      proxyConfig,
      addresses: ["10.0.0.1"],
      namespace: "b",
      workloadName: "",
      statusPort: 15021,
      prometheusPort: 15090,
      secureMetricsPort: 15091,
      secureMergedMetricsPort: 15092,
      sdsSocket: "socket",
      xdsSocket: "XDS",
      compliancePolicy: policy,
    });
    const contexts: unknown[] = [];
    const runtime: unknown[] = [];
    JSON.stringify(bootstrap, (key, value: unknown) => {
      if (key === "common_tls_context") contexts.push((value as Record<string, unknown>)["tls_params"]);
      if (key === "static_layer")
        runtime.push((value as Record<string, unknown>)["envoy.reloadable_features.google_grpc_disable_tls_13"]);
      return value;
    });
    expect(contexts).toEqual([parameters, parameters, parameters, parameters]);
    expect(runtime[0]).toBe(disablesTls13);
  });
});
