import { analyzeTexts } from "@istiod/analysis";
import { istioKinds } from "@istiod/config-schema";
import { expect, test } from "vitest";

/** Fields without which an object is rejected, by kind. */
const required: Readonly<Record<string, object>> = {
  DestinationRule: { host: "web" },
  EnvoyFilter: { configPatches: [] },
  Gateway: { servers: [{ port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["*"] }] },
  ServiceEntry: { hosts: ["a.example"], ports: [{ number: 80, name: "http", protocol: "HTTP" }], resolution: "STATIC" },
  Sidecar: { egress: [{ hosts: ["*/*"] }] },
  TrafficExtension: { lua: { inlineCode: "function envoy_on_request(h) end" } },
  WasmPlugin: { url: "oci://registry.example/a:v1" },
};

const absent = { app: "absent" };
/** Returns the fields that select no workload, by the type of the selector; undefined for kinds without one. */
function selectorOf({ schema }: Pick<(typeof istioKinds)[number], "schema">): object | undefined {
  const field = schema?.fields.find(({ jsonName }) => jsonName === "selector" || jsonName === "workloadSelector");
  if (field === undefined) return undefined;
  if (field.fieldKind === "map") return { [field.jsonName]: absent };
  const [labels] = field.message?.fields ?? [];
  return { [field.jsonName]: { [labels?.jsonName ?? ""]: absent } };
}

const workload = `
{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {istio-injection: enabled}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: shop, labels: {app: web}}, spec: {containers: [{name: istio-proxy}]}, status: {phase: Running, podIP: 10.0.0.1}}
---
`;

/** Istio's codes for Gateways, and for policies and Sidecars; the code for all other kinds. */
const unmatched = /^(IST0101|IST0127|MESH0010)$/;

const selecting = istioKinds.flatMap((kind) => {
  const selector = selectorOf(kind);
  return selector === undefined ? [] : [{ ...kind, selector }];
});

test("there are kinds with selectors", () => expect(selecting.length).toBeGreaterThan(5));

test.each(selecting)(
  "$kind: a selector that matches no workload is reported",
  ({ kind, group, versions, selector }) => {
    const object = {
      apiVersion: `${group}/${versions[0]}`,
      kind,
      metadata: { name: "a", namespace: "shop" },
      spec: { ...required[kind], ...selector },
    };
    const { messages } = analyzeTexts({ files: [{ file: "mesh.yaml", text: workload + JSON.stringify(object) }] });
    const found = messages.filter(({ origin }) => origin === `${kind} shop/a`).map(({ code }) => code);
    expect(found).toContainEqual(expect.stringMatching(unmatched));
  },
);
