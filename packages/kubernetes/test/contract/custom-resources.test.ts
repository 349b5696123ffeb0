import { beforeAll, expect, it } from "vitest";
import { contract, eventually } from "./servers.js";

contract("custom resources", (server) => {
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const path = `/apis/example.com/v1/namespaces/${server.namespace}/widgets`;
  const definition = (plural: string, kind: string) => ({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.example.com` },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { plural, kind, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: {
            openAPIV3Schema: {
              type: "object",
              required: ["spec"],
              properties: {
                spec: {
                  type: "object",
                  required: ["size"],
                  properties: {
                    size: { type: "integer", minimum: 1, maximum: 10 },
                    color: { type: "string", enum: ["red", "green"], default: "red" },
                    code: { type: "string", pattern: "^[a-z]+$" },
                    free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
                    parts: {
                      type: "array",
                      "x-kubernetes-list-type": "map",
                      "x-kubernetes-list-map-keys": ["name"],
                      items: {
                        type: "object",
                        required: ["name"],
                        properties: { name: { type: "string" }, count: { type: "integer" } },
                      },
                    },
                  },
                },
                status: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
              },
            },
          },
        },
      ],
    },
  });
  const widget = (name: string, spec: object) => ({
    apiVersion: "example.com/v1",
    kind: "Widget",
    metadata: { name },
    spec,
  });
  const define = async (plural: string, kind: string): Promise<void> => {
    await server.http.post(definitions, definition(plural, kind));
    await eventually(async () => {
      const { body } = await server.http.get(`${definitions}/${plural}.example.com`);
      const conditions: { type: string; status: string }[] = body.status?.conditions ?? [];
      const isEstablished = conditions.some(({ type, status }) => type === "Established" && status === "True");
      if (!isEstablished) return false;
      return (await server.http.get(`/apis/example.com/v1/namespaces/${server.namespace}/${plural}`)).status === 200;
    });
  };

  beforeAll(async () => {
    // Tests of a server that is not there are skipped after this hook.
    if (await isRunning()) await define("widgets", "Widget");
  });
  const isRunning = async (): Promise<boolean> => {
    try {
      return (await server.http.get("/readyz")).status > 0;
    } catch {
      return false;
    }
  };

  it("sets defaults, and prunes unknown fields with a warning", async () => {
    const { status, body, headers } = await server.http.post(
      path,
      widget("pruned", { size: 1, unknown: true, free: { any: [1] } }),
    );
    expect(status).toBe(201);
    expect(body.spec).toEqual({ size: 1, color: "red", free: { any: [1] } });
    expect(body.metadata.generation).toBe(1);
    expect(String(headers.warning)).toContain('unknown field \\"spec.unknown\\"');
  });

  it("rejects unknown fields in strict validation", async () => {
    const { status, body } = await server.http.post(
      `${path}?fieldValidation=Strict`,
      widget("strict", { size: 1, no: 1 }),
    );
    expect(status).toBe(400);
    expect(body.message).toContain('strict decoding error: unknown field "spec.no"');
  });

  it.each([
    [{ size: "one" }, "FieldValueTypeInvalid", "spec.size"],
    [{ size: 11 }, "FieldValueInvalid", "spec.size"],
    [{ size: 1, color: "blue" }, "FieldValueNotSupported", "spec.color"],
    [{ size: 1, code: "A1" }, "FieldValueInvalid", "spec.code"],
    [{ color: "red" }, "FieldValueRequired", "spec.size"],
  ])("rejects %j", async (spec, reason, field) => {
    const { status, body } = await server.http.post(path, widget("invalid", spec));
    expect(status).toBe(422);
    expect(body).toMatchObject({
      reason: "Invalid",
      details: { group: "example.com", kind: "Widget", name: "invalid" },
    });
    expect(body.details.causes).toContainEqual(expect.objectContaining({ reason, field }));
  });

  it.each([
    ["application/vnd.kubernetes.protobuf", 406, undefined],
    ["application/vnd.kubernetes.protobuf,application/json", 200, "WidgetList"],
  ])("have no protobuf: %s", async (accept, expected, kind) => {
    const { status, body } = await server.http.get(path, { accept });
    expect([status, status === 200 ? body.kind : undefined]).toEqual([expected, kind]);
  });

  it.each([
    ["CEL", { type: "object", "x-kubernetes-validations": [{ rule: "self.size < 5" }] }, { size: 7 }],
    ["formats", { type: "object", properties: { address: { type: "string", format: "ipv4" } } }, { address: "no" }],
    ["multiples", { type: "object", properties: { size: { type: "integer", multipleOf: 5 } } }, { size: 7 }],
  ])(
    "are validated by %s, or their definition is rejected: never accepted without effect",
    async (name, schema, spec) => {
      const { spec: of, ...rest } = definition(name.toLowerCase(), name.toUpperCase());
      const [version] = of.versions;
      const properties = { spec: { properties: { size: { type: "integer" } }, ...schema } };
      const versions = [{ ...version, schema: { openAPIV3Schema: { type: "object", properties } } }];
      const { status, body } = await server.http.post(definitions, { ...rest, spec: { ...of, versions } });
      if (status === 501) {
        expect(body.message).toMatch(
          /^CustomResourceDefinition [a-z]+\.example\.com: spec\.versions\[0\]\.schema\.openAPIV3Schema\.properties\[spec\]\..* is not evaluated/,
        );
        return;
      }
      expect(status).toBe(201);
      const invalid = await eventually(async () => {
        const kind = name.toUpperCase();
        const collection = `/apis/example.com/v1/namespaces/${server.namespace}/${name.toLowerCase()}`;
        const answer = await server.http.post(collection, { ...widget("invalid", spec), kind });
        return answer.status === 404 || answer.status === 429 ? undefined : answer;
      });
      expect([invalid.status, invalid.body.reason]).toEqual([422, "Invalid"]);
    },
  );

  it("requires the resource version of an update", async () => {
    const { body } = await server.http.post(path, widget("replaced", { size: 1 }));
    const unversioned = await server.http.put(`${path}/replaced`, widget("replaced", { size: 2 }));
    expect(unversioned.status).toBe(422);
    expect(unversioned.body.details.causes).toMatchObject([{ field: "metadata.resourceVersion" }]);
    const { body: updated } = await server.http.put(`${path}/replaced`, { ...body, spec: { size: 2 } });
    expect(updated.metadata.generation).toBe(2);
  });

  it("separates the status", async () => {
    await server.http.post(path, { ...widget("status", { size: 1 }), status: { ready: true } });
    const { body } = await server.http.mergePatch(`${path}/status/status`, {
      spec: { size: 2 },
      status: { ready: true },
    });
    expect(body).toMatchObject({ spec: { size: 1 }, status: { ready: true }, metadata: { generation: 1 } });
  });

  it("merges applied lists by the keys of the schema", async () => {
    const parts = (...names: string[]) => names.map((name) => ({ name, count: 1 }));
    await server.http.apply(`${path}/applied`, widget("applied", { size: 1, parts: parts("a") }), "one");
    const { body } = await server.http.apply(
      `${path}/applied`,
      widget("applied", { size: 1, parts: parts("b") }),
      "two",
    );
    expect(body.spec.parts).toEqual(parts("a", "b"));
    const own = body.metadata.managedFields.find(({ manager }: { manager: string }) => manager === "two").fieldsV1;
    expect(own["f:spec"]).toEqual({
      "f:size": {},
      "f:parts": { 'k:{"name":"b"}': { ".": {}, "f:name": {}, "f:count": {} } },
    });
  });

  it("carries kind and apiVersion in lists, and has no strategic merge patch", async () => {
    await server.http.post(path, widget("listed", { size: 1 }));
    const { body } = await server.http.get(path);
    expect(body).toMatchObject({ kind: "WidgetList", apiVersion: "example.com/v1" });
    expect(body.items[0]).toMatchObject({ kind: "Widget", apiVersion: "example.com/v1" });
    const contentType = "application/strategic-merge-patch+json";
    expect((await server.http.send("PATCH", `${path}/listed`, { body: {}, contentType })).status).toBe(415);
  });

  it("ends a type with its objects when the definition is deleted", async () => {
    await define("gadgets", "Gadget");
    const gadgets = path.replace("widgets", "gadgets");
    await server.http.post(gadgets, { ...widget("last", { size: 1 }), kind: "Gadget" });
    const { body } = await server.http.get(gadgets);
    const watch = await server.http.watch(gadgets, { resourceVersion: body.metadata.resourceVersion });
    await server.http.delete(`${definitions}/gadgets.example.com`);
    const { events } = await watch.rest();
    expect(events.map(({ type }) => type)).toContain("DELETED");
    await eventually(async () => (await server.http.get(gadgets)).status === 404);
    await eventually(async () => (await server.http.get(`${definitions}/gadgets.example.com`)).status === 404);
  });
});
