import { readFileSync } from "node:fs";
import { type DescMessage, equals, fromBinary, fromJson, type JsonValue, toBinary, toJson } from "@bufbuild/protobuf";
import { MeshConfigSchema } from "@istiod/istio-api/mesh/v1alpha1/config";
import { DestinationRuleSchema } from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { VirtualServiceSchema } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { IstioCertificateService } from "@istiod/istio-api/security/v1alpha1/ca";
import { registry } from "@istiod/istio-api/registry";
import { describe, expect, it, test } from "vitest";

interface Sample {
  readonly type: string;
  readonly json: JsonValue;
  /** Base64 of what another implementation made of the JSON by Istio's published definitions. */
  readonly bytes: string;
}

const samples = JSON.parse(
  readFileSync(new URL("./published-bytes.json", import.meta.url), "utf8"),
) as readonly Sample[];

const messageOf = (type: string): DescMessage =>
  registry.getMessage(type) ?? expect.fail(`${type} is not in the registry`);

describe.each(samples)("$type", ({ type, json, bytes }) => {
  const schema = messageOf(type);
  const published = new Uint8Array(Buffer.from(bytes, "base64"));

  it("is decoded equally from JSON and from bytes", () => {
    expect(equals(schema, fromJson(schema, json), fromBinary(schema, published))).toBe(true);
  });

  it("is encoded equally as bytes and as JSON", () => {
    const ours = toBinary(schema, fromJson(schema, json));
    expect(ours.length).toBe(published.length);
    expect(equals(schema, fromBinary(schema, ours), fromBinary(schema, published))).toBe(true);
    expect(toJson(schema, fromBinary(schema, published))).toEqual(json);
  });

  it("has no unknown fields", () => {
    expect(fromBinary(schema, published).$unknown).toBeUndefined();
  });
});

describe("JSON", () => {
  it("accepts camelCase and .proto field names, and enums by name and number", () => {
    const written = fromJson(DestinationRuleSchema, {
      host: "a",
      traffic_policy: { tls: { mode: 3 } },
      export_to: ["."],
    });
    expect(
      equals(
        DestinationRuleSchema,
        written,
        fromJson(DestinationRuleSchema, {
          host: "a",
          trafficPolicy: { tls: { mode: "ISTIO_MUTUAL" } },
          exportTo: ["."],
        }),
      ),
    ).toBe(true);
  });

  it("distinguishes an absent wrapper from its zero value", () => {
    expect(fromJson(MeshConfigSchema, {}).enableAutoMtls).toBeUndefined();
    expect(fromJson(MeshConfigSchema, { enableAutoMtls: false }).enableAutoMtls).toBe(false);
  });

  it.each<[string, DescMessage, JsonValue, string]>([
    ["an unknown field", VirtualServiceSchema, { hosts: ["a"], host: "a" }, '"host"'],
    [
      "an unknown field in depth",
      VirtualServiceSchema,
      { http: [{ route: [{ destination: { hots: "a" } }] }] },
      '"hots"',
    ],
    ["an unknown value of an enum", DestinationRuleSchema, { trafficPolicy: { tls: { mode: "STRICT" } } }, '"STRICT"'],
    ["another type", VirtualServiceSchema, { hosts: "a" }, "hosts"],
    ["a number out of range", VirtualServiceSchema, { http: [{ match: [{ port: -1 }] }] }, "port"],
    [
      "two of a oneof",
      VirtualServiceSchema,
      { http: [{ match: [{ uri: { exact: "/", prefix: "/" } }] }] },
      "match_type",
    ],
    ["a duration without unit", VirtualServiceSchema, { http: [{ timeout: "5" }] }, "5"],
  ])("is refused with %s, which the error names", (_, schema, json, name) => {
    expect(() => fromJson(schema, json)).toThrow(name);
  });
});

describe("bytes", () => {
  it("of unknown fields are preserved", () => {
    // Field 500 of a newer definition, with the text "new".
    const newer = new Uint8Array([0x0a, 0x01, 0x61, 0xa2, 0x1f, 0x03, 0x6e, 0x65, 0x77]);
    const read = fromBinary(VirtualServiceSchema, newer);
    expect(read.hosts).toEqual(["a"]);
    expect(read.$unknown?.map(({ no }) => no)).toEqual([500]);
    expect(toBinary(VirtualServiceSchema, read)).toEqual(newer);
  });
});

test("the certificate service has the name that agents call", () => {
  expect(IstioCertificateService.typeName).toBe("istio.v1.auth.IstioCertificateService");
  expect(IstioCertificateService.method.createCertificate).toMatchObject({
    name: "CreateCertificate",
    methodKind: "unary",
  });
});
