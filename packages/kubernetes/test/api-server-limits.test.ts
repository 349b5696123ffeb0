import { type ApiServerOptions, startApiServer } from "@istiod/kubernetes/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { Http } from "./contract/http.js";

async function start(options: ApiServerOptions = {}): Promise<Http> {
  const server = await startApiServer(options);
  onTestFinished(() => server.stop());
  return new Http({ url: server.url, token: server.tokens.admin });
}

const table = "application/json;as=Table;v=v1;g=meta.k8s.io";
const protobuf = "application/vnd.kubernetes.protobuf";

describe("what only a real server has is rejected, unless the client accepts JSON as well", () => {
  it.each([
    [table, 406],
    [`${table},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json`, 200],
    [protobuf, 406],
    [`${protobuf},application/json`, 200],
    ["application/json;as=PartialObjectMetadataList;v=v1beta1;g=meta.k8s.io", 406],
    ["application/yaml", 406],
  ])("%s", async (accept, status) => {
    const http = await start();
    for (const path of ["/api/v1/configmaps", "/api/v1/namespaces/default"]) {
      const answer = await http.get(path, { accept });
      expect([answer.status, answer.headers["content-type"]]).toEqual([status, "application/json"]);
      expect(["ConfigMapList", "Namespace", "Status"]).toContain(answer.body.kind);
    }
  });
});

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const schemaPath = "spec.versions[0].schema.openAPIV3Schema";
const definition = (schema: object, conversion?: object) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "carts.shop.example" },
  spec: {
    group: "shop.example",
    scope: "Namespaced",
    names: { plural: "carts", kind: "Cart", singular: "cart", listKind: "CartList" },
    ...(conversion && { conversion }),
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object", ...schema } } }],
  },
});
const rules = [{ rule: "self.a < 1" }];
const policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
const policy = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingAdmissionPolicy",
  metadata: { name: "carts.shop.example" },
  spec: { validations: [{ expression: "object.spec.replicas <= 5" }] },
};
const webhook = { strategy: "Webhook", webhook: { conversionReviewVersions: ["v1"] } };

describe("rules that the server does not evaluate are rejected", () => {
  it.each([
    ["CEL", definitions, definition({ "x-kubernetes-validations": rules }), `${schemaPath}.x-kubernetes-validations`],
    [
      "CEL within lists and maps",
      definitions,
      definition({
        properties: {
          spec: {
            type: "object",
            additionalProperties: { type: "array", items: { type: "object", "x-kubernetes-validations": rules } },
          },
        },
      }),
      `${schemaPath}.properties[spec].additionalProperties.items.x-kubernetes-validations`,
    ],
    [
      "a format within a combination",
      definitions,
      definition({ properties: { a: { type: "string", anyOf: [{}, { format: "ipv4" }] } } }),
      `${schemaPath}.properties[a].anyOf[1].format: ipv4`,
    ],
    ["conversion", definitions, definition({}, webhook), "spec.conversion.webhook"],
    ["admission policies", policies, policy, "spec.validations"],
  ])("%s", async (_, path, object, field) => {
    const http = await start();
    const { status, body } = await http.post(path, object);
    expect([status, body.reason]).toEqual([501, "NotImplemented"]);
    expect(body.message).toContain(`${object.kind} carts.shop.example: ${field} is not evaluated by this server`);
    const ignoring = await start({ unevaluatedRules: "ignore" });
    expect((await ignoring.post(path, object)).status).toBe(201);
  });

  it("of an update too, and without validation of built-in types; fields of these names and formats of numbers are no rules", async () => {
    const http = await start({ validation: false });
    const harmless = definition({
      properties: { "x-kubernetes-validations": { type: "array", items: { type: "integer", format: "int32" } } },
    });
    expect((await http.post(definitions, harmless)).status).toBe(201);
    const change = [
      { op: "add", path: "/spec/versions/0/schema/openAPIV3Schema/x-kubernetes-validations", value: rules },
    ];
    const { status, body } = await http.jsonPatch(`${definitions}/carts.shop.example`, change);
    expect([status, body.reason]).toEqual([501, "NotImplemented"]);
  });
});
