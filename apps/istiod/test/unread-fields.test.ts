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
import ts from "typescript";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** The code that generates the configuration of proxies from Istio's messages. */
const readers = [
  "packages/service-discovery/src",
  "packages/push-context/src",
  "packages/xds-generators/src",
  "packages/ca/src",
  "packages/config-schema/src/mesh",
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

/** Messages that istiod passes on unread to the agent and to injection. */
const readByOthers =
  /^istio\.(mesh\.v1alpha1\.(ProxyConfig|Tracing|SDS|PrivateKeyProvider|Topology)|networking\.(v1beta1\.ProxyImage|v1alpha3\.(ReadinessProbe|HTTPHealthCheckConfig)))/;
/** Fields that Istio hides from its documentation, and parts of a field that analysis reports as a whole. */
const settled =
  /\.(StackdriverProvider\.maxNumberOf\w+|Certificate\.dnsNames|ConfigSource\.\w+|ServiceScopeConfigs\.\w+|BackendUtilizationLB\.\w+)$/;

/** Adds the identifiers and strings of a directory's code, without those of comments. */
function addWords(words: Set<string>, directory: string): void {
  const names = readdirSync(join(root, directory), { recursive: true, encoding: "utf8" });
  for (const name of names.filter((each) => each.endsWith(".ts")))
    addWordsOf(words, readFileSync(join(root, directory, name), "utf8"));
}

function addWordsOf(words: Set<string>, text: string): void {
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node)) words.add(node.text);
    if (ts.isStringLiteralLike(node)) for (const word of node.text.match(/\w+/g) ?? []) words.add(word);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile("source.ts", text, ts.ScriptTarget.ES2023));
}

function fieldsOf(schema: DescMessage, seen: Set<string>): string[] {
  if (seen.has(schema.typeName) || schema.typeName.startsWith("google.")) return [];
  seen.add(schema.typeName);
  return schema.fields.flatMap((field) => [
    `${schema.typeName}.${field.localName}`,
    ...(field.message ? fieldsOf(field.message, seen) : []),
  ]);
}

test("comments do not count as reads of a field", () => {
  const words = new Set<string>();
  addWordsOf(
    words,
    "// first\n/** second */ const third = from['fourth.fifth']; export { third as sixth }; /* seventh */",
  );
  expect([...words].sort()).toEqual(["fifth", "fourth", "from", "sixth", "third"]);
});

test("analysis reports exactly the fields that no code reads", () => {
  const words = new Set<string>();
  for (const directory of readers) addWords(words, directory);
  const seen = new Set<string>();
  const unread = schemas
    .flatMap((schema) => fieldsOf(schema, seen))
    .filter((field) => !words.has(field.slice(field.lastIndexOf(".") + 1)));
  expect(unread.filter((field) => !readByOthers.test(field) && !settled.test(field)).sort()).toEqual(
    Object.keys(fieldsWithoutEffect).sort(),
  );
});
