import type { DescMessage } from "@bufbuild/protobuf";
import { allKinds, fieldsWithoutEffect, kindsWithoutEffect } from "@istiod/config-schema";
import { MeshConfigSchema } from "@istiod/istio-api/mesh/v1alpha1/config";
import { expect, test } from "vitest";
import { sourceFiles, unreadFields } from "./read-fields.js";

/** The code that configuration takes effect by: generation, injection, and the agent. */
const readers = [
  "packages/service-discovery/src",
  "packages/push-context/src",
  "packages/envoy-filter/src",
  "packages/xds-generators/src",
  "packages/injector/src",
  "packages/ca/src/identity",
  "packages/controllers/src/ingress-status",
  "packages/config-schema/src/mesh",
  "apps/istiod/src/config-sources.ts",
  "apps/pilot-agent/src",
];

/** Fields that are read in other ways than by their symbols. */
const settled: readonly (readonly [reason: string, fields: RegExp])[] = [
  ["registration reads the JSON of WorkloadGroups", /^istio\.networking\.v1alpha3\.WorkloadGroup\./],
  [
    "functions with a type parameter read the selection of policies",
    /Policy(TargetReference)?\.(selector|targetRefs?|group|kind|name|namespace)$/,
  ],
  ["the same, of requests", /^istio\.security\.v1beta1\.RequestAuthentication\.(selector|targetRefs?)$/],
  ["the same, of patches", /^istio\.networking\.v1alpha3\.EnvoyFilter\.targetRefs$/],
  ["label selectors are destructured as Kubernetes' own", /LabelSelectorRequirement\.key$/],
  ["failovers of zones and of regions are read as one type", /ZoneAwareLoadBalancerSetting\.Failover\.(from|to)$/],
  [
    "validation rejects them",
    /^istio\.networking\.v1alpha3\.((Sidecar)?Port\.targetPort|HTTPFaultInjection\.(Abort\.http2Error|Delay\.exponentialDelay))$/,
  ],
  ["it is what is not the other case", /^istio\.mesh\.v1alpha1\.PrivateKeyProvider\.qat$/],
  ["a provider is found by its own name", /SDSProvider\.name$/],
  ["the supported kinds of providers are listed by their names", /ExtensionProvider\.prometheus$/],
  [
    "the Gateway's topology is read as a field of a list of names",
    /^istio\.mesh\.v1alpha1\.ProxyConfig\.gatewayTopology$/,
  ],
];
/**
 * Fields that have no effect although code reads them: injection leaves one out where it has the default, and the agent
 * warns of the others.
 */
const readOnly = ["customConfigFile", "proxyBootstrapTemplatePath", "statNameLength"].map(
  (field) => `istio.mesh.v1alpha1.ProxyConfig.${field}`,
);

/** Adds a message type and those of its fields, except of fields that are reported as a whole. */
function addMessages(messages: Map<string, DescMessage>, schema: DescMessage): void {
  if (messages.has(schema.typeName) || schema.typeName.startsWith("google.")) return;
  messages.set(schema.typeName, schema);
  for (const { localName, message } of schema.fields)
    if (message !== undefined && fieldsWithoutEffect[`${schema.typeName}.${localName}`] === undefined)
      addMessages(messages, message);
}

test("fields without effect are exactly those that no code reads", () => {
  const messages = new Map<string, DescMessage>();
  addMessages(messages, MeshConfigSchema);
  const ineffective = kindsWithoutEffect({});
  for (const kind of allKinds)
    if (kind.schema !== undefined && !ineffective.has(kind)) addMessages(messages, kind.schema);
  const files = readers.flatMap(sourceFiles).filter((file) => !file.includes("/check-"));
  const unread = unreadFields([...messages.values()], files);
  const unsettled = unread.filter((field) => !settled.some(([, fields]) => fields.test(field)));
  expect([...unsettled, ...readOnly].sort()).toEqual(Object.keys(fieldsWithoutEffect).sort());
}, 900_000);
