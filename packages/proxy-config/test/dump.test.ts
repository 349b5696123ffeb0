import type { JsonObject } from "@bufbuild/protobuf";
import {
  assignments,
  bootstrapJson,
  clusters,
  configDump,
  controlPlaneDump,
  formatValue,
  listeners,
  ProxyConfigError,
  readClusterHosts,
  readConfigDump,
  secrets,
  secretsJson,
} from "@istiod/proxy-config";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { clusterDump, dumpOf, listenerDump, secretDump } from "./dumps.js";

const redactedBytes = Buffer.from("[redacted]").toString("base64");

/** Runs an action and returns the code and the message of what it throws. */
function failure(action: () => unknown): readonly [string, string] {
  try {
    action();
  } catch (error) {
    if (error instanceof ProxyConfigError) return [error.code, error.message];
    throw error;
  }
  throw new Error("expected a ProxyConfigError");
}

describe("a dump", () => {
  it("is rejected with a description if it is invalid", () => {
    expect(failure(() => readConfigDump("{"))[0]).toBe("invalid-json");
    expect(failure(() => readConfigDump("[]"))).toEqual(["unexpected-kind", "config dump: expected a JSON object"]);
    expect(failure(() => readConfigDump("{}"))).toEqual([
      "unexpected-kind",
      "config dump: there is no list `configs`; expected the output of Envoy's /config_dump",
    ]);
    expect(failure(() => readConfigDump('{"cluster_statuses": []}'))[1]).toContain(
      "this is the output of /clusters?format=json",
    );
    expect(failure(() => readClusterHosts('{"configs": []}'))[1]).toContain(
      "expected the output of Envoy's /clusters?format=json",
    );
    expect(failure(() => clusters(readConfigDump('{"configs": []}')))).toEqual([
      "missing-section",
      "config dump: there is no ClustersConfigDump",
    ]);
    expect(failure(() => bootstrapJson(dumpOf("BootstrapConfigDump", {})))[1]).toContain(
      "only the proxy's own dump has it",
    );
    expect(failure(() => clusters(clusterDump({ name: "c", connect_timeout: "soon" })))).toEqual([
      "invalid-resource",
      expect.stringContaining("Cluster c: "),
    ]);
  });

  it("without endpoints has none", () => {
    expect(assignments(readConfigDump('{"configs": []}'))).toEqual([]);
  });

  it("keeps unknown fields and types", () => {
    const filter = {
      name: "vendor",
      typed_config: { "@type": "type.googleapis.com/vendor.Filter", some_field: { deep: [1, "x"] } },
    };
    const [found] = listeners(
      listenerDump({ name: "l", stat_prefix: "p", a_field_of_tomorrow: true, filter_chains: [{ filters: [filter] }] }),
    );
    expect(found?.message.statPrefix).toBe("p");
    expect(found?.json).toEqual({
      name: "l",
      statPrefix: "p",
      a_field_of_tomorrow: true,
      filterChains: [{ filters: [{ name: "vendor", typedConfig: filter.typed_config }] }],
    });
  });

  it("merges sections that are split", () => {
    const piece = (name: string): JsonObject => ({
      "@type": "type.googleapis.com/envoy.admin.v3.ClustersConfigDump",
      dynamic_active_clusters: [{ cluster: { name } }],
    });
    expect(clusters(configDump({ configs: [piece("a"), piece("b")] })).map(({ message }) => message.name)).toEqual([
      "a",
      "b",
    ]);
  });

  it("of a control plane is parsed like that of an Envoy", () => {
    const resource = {
      "@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster",
      name: "c",
      connectTimeout: "1s",
    };
    const secret = {
      "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret",
      name: "s",
      tlsCertificate: { privateKey: { inlineString: "key" } },
    };
    const dump = configDump(
      controlPlaneDump({
        clusters: [{ name: "c", version: "7", resource }],
        listeners: [],
        routes: [],
        secrets: [{ name: "s", version: "1", resource: secret }],
        extensions: [],
      }),
    );
    expect(clusters(dump).map(({ json }) => json)).toEqual([{ name: "c", connectTimeout: "1s" }]);
    expect(JSON.stringify(dump)).not.toContain('"key"');
  });

  it("is written as JSON and as YAML", () => {
    const json = clusters(clusterDump({ name: "c", type: "EDS" })).map((found) => found.json);
    expect(formatValue(json, "json")).toBe('[\n    {\n        "name": "c",\n        "type": "EDS"\n    }\n]\n');
    expect(parse(formatValue(json, "yaml"))).toEqual([{ name: "c", type: "EDS" }]);
  });
});

const certificate = `-----BEGIN CERTIFICATE-----
CERTIFICATE
-----END CERTIFICATE-----`;

describe("secrets", () => {
  it("never contain private keys, passwords or other sensitive fields", () => {
    const pem = "-----BEGIN EC PRIVATE KEY-----\nMHc\n-----END EC PRIVATE KEY-----";
    const dump = secretDump(
      {
        name: "inline",
        tls_certificate: {
          certificate_chain: { inline_string: "chain" },
          private_key: { inline_bytes: Buffer.from("key-1").toString("base64") },
          password: { inline_string: "key-2" },
          pkcs12: { filename: "/key-3" },
        },
      },
      { name: "tickets", session_ticket_keys: { keys: [{ inline_string: "key-4" }] } },
      {
        name: "generic",
        generic_secret: { secret: { inline_string: "key-5" }, secrets: { a: { inline_string: "key-6" } } },
      },
      {
        name: "provider",
        tls_certificate: {
          private_key_provider: {
            provider_name: "p",
            typed_config: { "@type": "type.googleapis.com/google.protobuf.StringValue", value: "key-7" },
          },
        },
      },
      {
        name: "vendor",
        validation_context: {
          custom_validator_config: {
            name: "v",
            typed_config: {
              "@type": "type.googleapis.com/vendor.Validator",
              private_key: "key-8",
              text: pem,
              bytes: Buffer.from(pem).toString("base64"),
            },
          },
        },
      },
    );
    const text = JSON.stringify(secretsJson(dump));
    expect(text).not.toMatch(/key-\d/);
    expect(text).not.toContain("MHc");
    expect(text).not.toContain(Buffer.from(pem).toString("base64"));
    expect(secretsJson(dump)).toMatchObject({
      dynamicActiveSecrets: [
        {
          secret: {
            tlsCertificate: { certificateChain: { inlineString: "chain" }, privateKey: { inlineBytes: redactedBytes } },
          },
        },
        {},
        {},
        {},
        {},
      ],
    });
  });

  it("without a readable certificate are not valid", () => {
    expect(
      secrets(secretDump({ name: "bad", tls_certificate: { certificate_chain: { inline_string: certificate } } })),
    ).toEqual([
      {
        name: "bad",
        state: "ACTIVE",
        type: "",
        valid: false,
        serialNumber: "",
        notAfter: "",
        notBefore: "",
        trustDomain: "",
      },
    ]);
  });
});
