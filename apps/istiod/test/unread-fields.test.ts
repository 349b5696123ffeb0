import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { DescMessage } from "@bufbuild/protobuf";
import { fieldsWithoutEffect } from "@istiod/analysis";
import { MeshConfigSchema } from "@istiod/istio-api/mesh/v1alpha1/config";
import { DestinationRuleSchema } from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { GatewaySchema } from "@istiod/istio-api/networking/v1alpha3/gateway";
import { ServiceEntrySchema } from "@istiod/istio-api/networking/v1alpha3/service_entry";
import { SidecarSchema } from "@istiod/istio-api/networking/v1alpha3/sidecar";
import { VirtualServiceSchema } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { WorkloadEntrySchema } from "@istiod/istio-api/networking/v1alpha3/workload_entry";
import { AuthorizationPolicySchema } from "@istiod/istio-api/security/v1beta1/authorization_policy";
import { PeerAuthenticationSchema } from "@istiod/istio-api/security/v1beta1/peer_authentication";
import { RequestAuthenticationSchema } from "@istiod/istio-api/security/v1beta1/request_authentication";
import { TelemetrySchema } from "@istiod/istio-api/telemetry/v1alpha1/telemetry";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** The code that turns Istio's messages into a proxy's configuration. */
const readers = [
  "packages/service-discovery/src",
  "packages/push-context/src",
  "packages/xds-generators/src",
  "packages/ca/src",
  "packages/config-ingestion/src/mesh",
  "apps/istiod/src",
];

const schemas = [
  AuthorizationPolicySchema,
  DestinationRuleSchema,
  GatewaySchema,
  MeshConfigSchema,
  PeerAuthenticationSchema,
  RequestAuthenticationSchema,
  ServiceEntrySchema,
  SidecarSchema,
  TelemetrySchema,
  VirtualServiceSchema,
  WorkloadEntrySchema,
];

/** Messages that istiod hands on whole, to the agent and to injection, and those of them that the agent reads. */
const readByOthers =
  /^istio\.(mesh\.v1alpha1\.(ProxyConfig|Tracing|SDS|PrivateKeyProvider|Topology)|networking\.(v1beta1\.ProxyImage|v1alpha3\.(ReadinessProbe|HTTPHealthCheckConfig)))/;
/** Fields that Istio removed from its API's documentation, and parts of a field that stands in the table as a whole. */
const settled =
  /\.(StackdriverProvider\.maxNumberOf\w+|Certificate\.dnsNames|ConfigSource\.\w+|ServiceScopeConfigs\.\w+|BackendUtilizationLB\.\w+)$/;

function sources(directory: string): string {
  return readdirSync(join(root, directory), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => readFileSync(join(root, directory, name), "utf8"))
    .join("\n");
}

function fieldsOf(schema: DescMessage, seen: Set<string>): string[] {
  if (seen.has(schema.typeName) || schema.typeName.startsWith("google.")) return [];
  seen.add(schema.typeName);
  return schema.fields.flatMap((field) => [
    `${schema.typeName}.${field.localName}`,
    ...(field.message ? fieldsOf(field.message, seen) : []),
  ]);
}

test("the fields that no code reads are those that analysis tells of", () => {
  const words = new Set(readers.map(sources).join("\n").match(/\w+/g));
  const seen = new Set<string>();
  const unread = schemas
    .flatMap((schema) => fieldsOf(schema, seen))
    .filter((field) => !words.has(field.slice(field.lastIndexOf(".") + 1)));
  expect(unread.filter((field) => !readByOthers.test(field) && !settled.test(field)).sort()).toEqual(
    Object.keys(fieldsWithoutEffect).sort(),
  );
});
