import { create } from "@bufbuild/protobuf";
import { type CustomTag, CustomTagSchema } from "@istiod/envoy-api/envoy/type/tracing/v3/custom_tag";
import type { QueryContext } from "@istiod/incremental";
import type { Tracing as ProxyTracing } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import type { Tracing_CustomTag as TelemetryTag } from "@istiod/istio-api/telemetry/v1alpha1/telemetry";
import { askMetadata, label, versionAtLeast } from "@istiod/push-context";
import { httpRbacFilter } from "../security/external-authorization.js";

export type { CustomTag };

/** Who the workload is, and what policies on trial would have done. */
export function istioTags(q: QueryContext): readonly CustomTag[] {
  return [
    literal("istio.canonical_revision", q.ask(label, "service.istio.io/canonical-revision") || "latest"),
    literal("istio.canonical_service", q.ask(label, "service.istio.io/canonical-name") || "unknown"),
    literal("istio.mesh_id", askMetadata(q, "MESH_ID") || "unknown"),
    literal("istio.namespace", askMetadata(q, "NAMESPACE") || "default"),
    literal("istio.cluster_id", askMetadata(q, "CLUSTER_ID") || "unknown"),
    ...dryRunTags,
  ];
}

/** Tags that the proxy's own configuration asks for. */
export function proxyConfigTags(tracing: ProxyTracing | undefined): readonly CustomTag[] {
  return Object.entries(tracing?.customTags ?? {}).flatMap(([tag, { type }]) => {
    switch (type.case) {
      case "literal":
        return [literal(tag, type.value.value)];
      case "environment":
        return [create(CustomTagSchema, { tag, type: { case: "environment", value: named(type.value) } })];
      case "header":
        return [create(CustomTagSchema, { tag, type: { case: "requestHeader", value: named(type.value) } })];
      default:
        return [];
    }
  });
}

/** Tags that a Telemetry asks for; formatters need Istio 1.29. */
export function telemetryTags(q: QueryContext, tags: Readonly<Record<string, TelemetryTag>>): readonly CustomTag[] {
  return Object.entries(tags).flatMap(([tag, { type }]) => {
    switch (type.case) {
      case "literal":
        return [literal(tag, type.value.value)];
      case "environment":
        return [create(CustomTagSchema, { tag, type: { case: "environment", value: named(type.value) } })];
      case "header":
        return [create(CustomTagSchema, { tag, type: { case: "requestHeader", value: named(type.value) } })];
      case "formatter":
        return q.ask(versionAtLeast, [1, 29, 0]) ? [create(CustomTagSchema, { tag, type: { case: "value", value: type.value.value } })] : [];
      default:
        return [create(CustomTagSchema, { tag })];
    }
  });
}

const dryRunTags: readonly CustomTag[] = ["allow", "deny"].flatMap((action) => [
  dryRunTag(`istio.authorization.dry_run.${action}_policy.name`, `istio_dry_run_${action}_shadow_effective_policy_id`),
  dryRunTag(`istio.authorization.dry_run.${action}_policy.result`, `istio_dry_run_${action}_shadow_engine_result`),
]);

function dryRunTag(tag: string, key: string): CustomTag {
  return create(CustomTagSchema, {
    tag,
    type: {
      case: "metadata",
      value: {
        kind: { kind: { case: "request", value: {} } },
        metadataKey: { key: httpRbacFilter, path: [{ segment: { case: "key", value: key } }] },
      },
    },
  });
}

function literal(tag: string, value: string): CustomTag {
  return create(CustomTagSchema, { tag, type: { case: "literal", value: { value } } });
}

function named({ name, defaultValue }: { readonly name: string; readonly defaultValue: string }) {
  return { name, defaultValue };
}
