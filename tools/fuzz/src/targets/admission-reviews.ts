import { AdmissionError, encodeReview, readReview } from "@istiod/admission";
import { validationWebhook } from "@istiod/validation";
import type { Target } from "../target.js";

function review(apiVersion: string, object: unknown): Buffer {
  const { kind = "" } = object as { kind?: string };
  return Buffer.from(
    JSON.stringify({
      kind: "AdmissionReview",
      apiVersion,
      request: {
        uid: "705ab4f5",
        kind: { group: "networking.istio.io", version: "v1", kind },
        operation: "CREATE",
        namespace: "shop",
        userInfo: { username: "ada" },
        object,
      },
    }),
  );
}

const virtualService = {
  apiVersion: "networking.istio.io/v1",
  kind: "VirtualService",
  metadata: { name: "cart", labels: { "istio.io/rev": "default" }, annotations: { a: "{{ .Values }}" } },
  spec: {
    hosts: ["cart.example.com"],
    http: [
      {
        match: [{ uri: { regex: "/v[12]/.*" } }],
        timeout: "1.5s",
        route: [{ destination: { host: "cart", port: { number: 80 } }, weight: 100 }],
      },
    ],
  },
};
const envoyFilter = {
  apiVersion: "networking.istio.io/v1alpha3",
  kind: "EnvoyFilter",
  metadata: { generateName: "lua-" },
  spec: {
    configPatches: [
      {
        applyTo: "HTTP_FILTER",
        patch: {
          operation: "INSERT_FIRST",
          value: {
            name: "lua",
            typed_config: {
              "@type": "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua",
              inlineCode: "function envoy_on_request() end",
            },
          },
        },
      },
    ],
  },
};
const policy = {
  apiVersion: "security.istio.io/v1",
  kind: "AuthorizationPolicy",
  metadata: { name: "allow" },
  spec: {
    rules: [{ from: [{ source: { ipBlocks: ["10.0.0.0/8"] } }], when: [{ key: "request.headers[a]", values: ["*"] }] }],
  },
};

/** Longest answer in characters. Messages list 20 faults and as many warnings, and quote parts of values. */
const maxAnswer = 100_000;

const admit = validationWebhook();

/** Bodies of requests to the validation webhook. */
export const admissionReviews: Target = {
  name: "admission-reviews",
  description: "the reader of AdmissionReviews, and the validation webhook's decision",
  seeds: [
    review("admission.k8s.io/v1", virtualService),
    review("admission.k8s.io/v1beta1", envoyFilter),
    review("admission.k8s.io/v1", policy),
  ],
  dictionary: [
    ...[
      "admission.k8s.io/v1beta1",
      "UPDATE",
      "DELETE",
      "null",
      "[[[[[[[[",
      '{"a":',
      '"__proto__":',
      "\\u0000",
      "1e999",
    ],
    ...[
      "{{ . }}",
      "${jndi}",
      "%(percent)s",
      "\\n---\\n",
      '"items":[',
      "google.protobuf.Any",
      '"@type":""',
      "-1",
      "(a+)+$",
    ],
  ].map((word) => Buffer.from(word)),
  async run(input) {
    let read;
    try {
      read = readReview(input);
    } catch (error) {
      if (error instanceof AdmissionError) return;
      throw error;
    }
    const context = { url: new URL("http://localhost/validate"), signal: new AbortController().signal };
    const answer = encodeReview(read, await admit(read.request, context));
    const { response } = JSON.parse(answer) as { response: { uid: unknown; allowed: unknown } };
    if (response.uid !== read.request.uid) throw new Error(`the answer has the UID ${String(response.uid)}`);
    if (typeof response.allowed !== "boolean") throw new Error("the answer has no verdict");
    if (answer.length > maxAnswer) throw new Error(`the answer has ${answer.length} characters`);
  },
};
