import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createRegistry, fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import { FilterSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import { HttpFilterSchema } from "@istiod/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager";
import { registry as envoy } from "@istiod/envoy-api/registry";
import { registry as istio } from "@istiod/istio-api/registry";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { httpAuthorization, tcpAuthorization } from "../../src/security/authorization/client-authorization.js";
import { serviceYaml } from "../mesh-yaml.js";
import { TestMesh } from "../mesh.js";

interface Case {
  readonly name: string;
  readonly input: string;
  readonly want: readonly string[];
  readonly kind: "http" | "tcp";
  readonly meshConfig?: string;
  readonly tdBundle?: string;
}

/** Reference cases: policies in, filters out. */
const folder = join(import.meta.dirname, "../../../../../shared/peer/authz-builder");
const present = existsSync(folder);
if (!present) console.log(`skipped: ${folder} is absent`);

const registry = createRegistry(...envoy, ...istio);

/** Mesh configurations by the names that the cases use. */
const meshConfigs: Readonly<Record<string, JsonValue>> = {
  meshConfigGRPC: {
    extensionProviders: [
      {
        name: "default",
        envoyExtAuthzGrpc: {
          service: "foo/my-custom-ext-authz.foo.svc.cluster.local",
          port: 9000,
          timeout: "0.002s",
          failOpen: true,
          statusOnError: "403",
          includeRequestBodyInCheck: { maxRequestBytes: 4096, allowPartialMessage: true },
        },
      },
    ],
  },
};

describe("AuthorizationPolicies of the reference cases", () => {
  const cases = present ? (JSON.parse(readFileSync(join(folder, "cases.json"), "utf8")) as Case[]) : [];

  it("have cases", ({ skip }) => {
    skip(!present, "no ../shared/peer/authz-builder beside the repository");
    expect(cases).not.toEqual([]);
  });

  for (const each of cases) {
    it(each.name, () => {
      const read = (file: string): string => readFileSync(join(folder, each.kind, file), "utf8");
      const mesh = new TestMesh(
        serviceYaml("my-custom-ext-authz", { namespace: "foo", ports: ["grpc:9000"] }) + `\n---\n${read(each.input)}`,
        configOf(each),
      );
      const proxy = mesh.proxy({ namespace: "foo", labels: { app: "httpbin", version: "v1" } });
      const schema = each.kind === "http" ? HttpFilterSchema : FilterSchema;
      const { custom, local } =
        each.kind === "http"
          ? proxy.view.call(httpAuthorization, "certificate")
          : proxy.view.call(tcpAuthorization, "certificate");
      const expected = each.want.map((file) =>
        toJson(schema, fromJson(schema, parse(read(file)) as JsonValue, { registry }), { registry }),
      );
      expect([...custom, ...local].map((filter) => toJson(schema, filter as never, { registry }))).toEqual(expected);
    });
  }
});

function configOf({ meshConfig, tdBundle }: Case): JsonValue {
  const [, trustDomain, aliases = ""] = /NewBundle\("([^"]*)", \[\]string\{([^}]*)\}/.exec(tdBundle ?? "") ?? [];
  return {
    ...(meshConfig === undefined ? {} : (meshConfigs[meshConfig] as object)),
    ...(trustDomain === undefined
      ? {}
      : { trustDomain, trustDomainAliases: aliases.split(",").map((text) => text.trim().replaceAll('"', "")) }),
  };
}
