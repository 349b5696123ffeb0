import { AdmissionError, encodeReview, readReview } from "@istiod/admission";
import { describe, expect, it } from "vitest";

const request = {
  uid: "705ab4f5",
  kind: { group: "networking.istio.io", version: "v1", kind: "Gateway" },
  resource: { group: "networking.istio.io", version: "v1", resource: "gateways" },
  name: "ingress",
  namespace: "shop",
  operation: "UPDATE",
  userInfo: { username: "ada", groups: ["system:authenticated"] },
  object: { metadata: { name: "ingress" } },
  oldObject: { metadata: { name: "ingress", generation: 1 } },
  dryRun: true,
  options: { kind: "UpdateOptions" },
};
const review = (fields: object = {}, apiVersion: unknown = "admission.k8s.io/v1"): Buffer =>
  Buffer.from(JSON.stringify({ kind: "AdmissionReview", apiVersion, request: { ...request, ...fields } }));

describe.each(["admission.k8s.io/v1", "admission.k8s.io/v1beta1"])("an AdmissionReview of %s", (apiVersion) => {
  it("is read", () => {
    const { request: read, ...rest } = readReview(review({}, apiVersion));
    expect(rest).toEqual({ apiVersion });
    const { userInfo: _userInfo, options: _options, ...expected } = request;
    expect(read).toEqual({ ...expected, subResource: "", user: "ada" });
  });

  it("is answered in its version, with its UID", () => {
    const read = readReview(review({}, apiVersion));
    const answer: unknown = JSON.parse(encodeReview(read, { allowed: true }));
    expect(answer).toEqual({ kind: "AdmissionReview", apiVersion, response: { uid: "705ab4f5", allowed: true } });
  });
});

it("an absent object, as that of a DELETE, is undefined", () => {
  const { object, oldObject, dryRun, name } = readReview(
    review({ operation: "DELETE", object: null, oldObject: undefined, dryRun: undefined, name: undefined }),
  ).request;
  expect({ object, oldObject, dryRun, name }).toEqual({
    object: undefined,
    oldObject: undefined,
    dryRun: false,
    name: "",
  });
});

it("a denial has the message, the faults and the status code", () => {
  const causes = [{ field: "spec.servers", message: "is empty" }];
  const answer = encodeReview(readReview(review()), { allowed: false, message: "no servers", code: 422, causes });
  expect((JSON.parse(answer) as { response: unknown }).response).toEqual({
    uid: "705ab4f5",
    allowed: false,
    status: {
      status: "Failure",
      message: "no servers",
      code: 422,
      details: { causes: [{ reason: "FieldValueInvalid", field: "spec.servers", message: "is empty" }] },
    },
  });
});

it("a patch is encoded as base64 of a JSON patch, an empty one is left out", () => {
  const read = readReview(review());
  const patch = [{ op: "add", path: "/metadata/labels", value: { a: "ü" } }] as const;
  const { response } = JSON.parse(encodeReview(read, { allowed: true, patch })) as { response: { patch: string } };
  expect(response).toMatchObject({ patchType: "JSONPatch" });
  expect(JSON.parse(Buffer.from(response.patch, "base64").toString())).toEqual(patch);
  expect(encodeReview(read, { allowed: true, patch: [] })).not.toContain("patch");
});

it("warnings and audit annotations are passed on", () => {
  const answer = encodeReview(readReview(review()), {
    allowed: true,
    warnings: ["deprecated"],
    auditAnnotations: { template: "sidecar" },
  });
  expect((JSON.parse(answer) as { response: unknown }).response).toMatchObject({
    warnings: ["deprecated"],
    auditAnnotations: { template: "sidecar" },
  });
});

describe("a body is rejected with the field and what is expected", () => {
  it.each<[string, Uint8Array, string, string | RegExp]>([
    ["truncated", review().subarray(0, 100), "malformed", /^the body is not JSON: /],
    ["not UTF-8", Buffer.of(0x22, 0xff, 0x22), "malformed", /^the body is not JSON: /],
    ["a list", Buffer.from("[]"), "malformed", "the body is a list, expected an AdmissionReview"],
    ["another kind", Buffer.from('{"kind":"Pod"}'), "unsupported", 'kind is "Pod", expected AdmissionReview'],
    [
      "another version",
      review({}, "admission.k8s.io/v2"),
      "unsupported",
      'apiVersion is "admission.k8s.io/v2", expected admission.k8s.io/v1 or admission.k8s.io/v1beta1',
    ],
    ["without a UID", review({ uid: "" }), "malformed", "request.uid is missing, expected a string"],
    [
      "without an operation",
      review({ operation: undefined }),
      "malformed",
      "request.operation is missing, expected CREATE, UPDATE, DELETE or CONNECT",
    ],
    ["with a string as object", review({ object: "x" }), "malformed", 'request.object is "x", expected an object'],
    ["with a list as kind", review({ kind: [] }), "malformed", "request.kind is a list, expected an object"],
    [
      "with a number as group",
      review({ resource: { group: 1 } }),
      "malformed",
      "request.resource.group is 1, expected a string",
    ],
    [
      "with dryRun as string",
      review({ dryRun: "yes" }),
      "malformed",
      'request.dryRun is "yes", expected true or false',
    ],
    [
      "with a long name of a wrong type",
      review({ name: ["x".repeat(100_000)] }),
      "malformed",
      "request.name is a list, expected a string",
    ],
  ])("%s", (_, body, code, message) => {
    let error: unknown;
    try {
      readReview(body);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(AdmissionError);
    expect((error as AdmissionError).code).toBe(code);
    expect((error as AdmissionError).message).toMatch(message);
  });
});

it("nesting is limited before the body is parsed, brackets in strings do not count", () => {
  const nested = (levels: number): Buffer => Buffer.from("[".repeat(levels) + "]".repeat(levels));
  expect(() => readReview(nested(257))).toThrow("the body is nested more than 256 levels deep");
  expect(() => readReview(nested(256))).toThrow("the body is a list");
  // Unclosed, as of a truncated body. A parser would need a stack for it.
  expect(() => readReview(Buffer.from("[".repeat(6 * 1024 * 1024)))).toThrow("nested more than 256");
  const name = `\\"${"[{".repeat(500)}`;
  expect(readReview(review({ name })).request.name).toBe(name);
});

it("rejects JSON with more members and elements than the limit, without counting those in strings", () => {
  const bytes = (labels: object): Buffer =>
    Buffer.from(
      JSON.stringify({
        kind: "AdmissionReview",
        apiVersion: "admission.k8s.io/v1",
        request: { uid: "1", operation: "CREATE", object: { labels } },
      }),
    );
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`l${at}`, "x"]));
  expect(() => readReview(bytes(many), { maxValues: 100 })).toThrow("the body has more than 100 values");
  expect(readReview(bytes(many), { maxValues: 200 }).request.object).toEqual({ labels: many });
  const text = { text: '[{",\\"'.repeat(100) };
  expect(readReview(bytes(text), { maxValues: 20 }).request.object).toEqual({ labels: text });
});
