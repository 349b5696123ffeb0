import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createRegistry, fromJson, type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { FilterSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import { HttpFilterSchema } from "@istiod/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager";
import { registry as envoy } from "@istiod/envoy-api/registry";
import { registry as istio } from "@istiod/istio-api/registry";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { httpAuthorization, tcpAuthorization } from "../../src/security/authorization/client-authorization.js";
import { serviceYaml } from "../mesh-yaml.js";
import { TestMesh } from "../mesh.js";

/** A reference case: AuthorizationPolicies, and the filters that Istio generates from them. */
interface Case {
  readonly name: string;
  /** File with the policies. */
  readonly input: string;
  /** Files with the expected filters, in their order. */
  readonly want: readonly string[];
  /** True if the filters are those of HTTP or of TCP, which is also the folder of the files. */
  readonly kind: "http" | "tcp";
  /** Name of a mesh configuration; default: Istio's defaults. */
  readonly meshConfig?: string;
  /** Trust domain and its aliases, as an expression of Go; default: those of the mesh configuration. */
  readonly tdBundle?: string;
}

const folder = join(import.meta.dirname, "../../../../../shared/peer/authz-builder");
const absent = existsSync(folder) ? undefined : "no ../shared/peer/authz-builder beside the repository";
const cases = absent ? [] : (JSON.parse(readFileSync(join(folder, "cases.json"), "utf8")) as Case[]);

const registry = createRegistry(...envoy, ...istio);

/** Mesh configurations by the names that the cases use. */
const meshConfigs: Readonly<Record<string, JsonObject>> = {
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
  it("are present", ({ skip }) => {
    skip(absent !== undefined, absent);
    expect(cases.map(({ kind }) => kind)).toEqual(expect.arrayContaining(["http", "tcp"]));
  });

  it.each(cases.map((each) => [`${each.kind}/${each.input}`, each.want.join(" and ") || "no filter", each] as const))(
    "%s yields %s",
    (_input, _want, each) => {
      expect(generatedFilters(each)).toEqual(each.want.map((file) => expectedFilter(each, file)));
    },
  );
});

/** Returns the filters that are generated for the workload that the cases' policies select. */
function generatedFilters(each: Case): JsonValue[] {
  const authorizationServer = serviceYaml("my-custom-ext-authz", { namespace: "foo", ports: ["grpc:9000"] });
  const mesh = new TestMesh(`${authorizationServer}\n---\n${readCaseFile(each, each.input)}`, meshConfigOf(each));
  const { view } = mesh.proxy({ namespace: "foo", labels: { app: "httpbin", version: "v1" } });
  const { custom, local } =
    each.kind === "http" ? view.call(httpAuthorization, "certificate") : view.call(tcpAuthorization, "certificate");
  return [...custom, ...local].map((filter) => toJson(schemaOf(each), filter as never, { registry }));
}

function expectedFilter(each: Case, file: string): JsonValue {
  const json = parse(readCaseFile(each, file)) as JsonValue;
  return toJson(schemaOf(each), fromJson(schemaOf(each), json, { registry }), { registry });
}

function readCaseFile({ kind }: Case, file: string): string {
  return readFileSync(join(folder, kind, file), "utf8");
}

function schemaOf({ kind }: Case): typeof HttpFilterSchema | typeof FilterSchema {
  return kind === "http" ? HttpFilterSchema : FilterSchema;
}

function meshConfigOf({ meshConfig, tdBundle }: Case): JsonObject {
  const base = meshConfig === undefined ? {} : meshConfigs[meshConfig];
  if (base === undefined) throw new Error(`no mesh configuration ${meshConfig}`);
  return { ...base, ...(tdBundle === undefined ? {} : trustDomains(tdBundle)) };
}

/** Reads an expression such as `trustdomain.NewBundle("td1", []string{"cluster.local", "td2"})`. */
function trustDomains(bundle: string): { readonly trustDomain: string; readonly trustDomainAliases: string[] } {
  const [trustDomain, ...trustDomainAliases] = [...bundle.matchAll(/"([^"]*)"/g)].map(([, domain = ""]) => domain);
  if (trustDomain === undefined) throw new Error(`no trust domain in ${bundle}`);
  return { trustDomain, trustDomainAliases };
}
