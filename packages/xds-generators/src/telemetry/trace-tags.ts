import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { HttpConnectionManager_TracingSchema as TracingSchema } from "@istiod/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager";
import {
  CustomTag_LiteralSchema as LiteralSchema,
  CustomTagSchema,
} from "@istiod/envoy-api/envoy/type/tracing/v3/custom_tag";
import { query, type QueryContext } from "@istiod/incremental";
import type { Tracing as ProxyTracing } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import type { Tracing_CustomTag as TelemetryTag } from "@istiod/istio-api/telemetry/v1alpha1/telemetry";
import { encodeMessageField, encodeStringField } from "@istiod/protobuf-wire";
import { askMetadata, label, versionAtLeast } from "@istiod/push-context";
import { httpRbacFilter } from "../security/authorization/external-authorization.js";

/** A custom tag, encoded as an element of a connection manager's tags. */
export interface TraceTag {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** The field of tracing for custom tags. */
const tagsField = TracingSchema.field.customTags.number;

/** Tags that identify the workload and the results of dry-run policies. */
export const istioTags = query("istioTags", (q): readonly TraceTag[] => [
  literalTag("istio.canonical_revision", q.ask(label, "service.istio.io/canonical-revision") || "latest"),
  literalTag("istio.canonical_service", q.ask(label, "service.istio.io/canonical-name") || "unknown"),
  literalTag("istio.mesh_id", askMetadata(q, "MESH_ID") || "unknown"),
  literalTag("istio.namespace", askMetadata(q, "NAMESPACE") || "default"),
  literalTag("istio.cluster_id", askMetadata(q, "CLUSTER_ID") || "unknown"),
  ...dryRunTags,
]);

/** Returns the tags of the proxy's own configuration. */
export function proxyConfigTags(tracing: ProxyTracing | undefined): readonly TraceTag[] {
  return Object.entries(tracing?.customTags ?? {}).flatMap(([tag, { type }]) => {
    switch (type.case) {
      case "literal":
        return [literalTag(tag, type.value.value)];
      case "environment":
        return [encodeTag({ tag, type: { case: "environment", value: named(type.value) } })];
      case "header":
        return [encodeTag({ tag, type: { case: "requestHeader", value: named(type.value) } })];
      default:
        return [];
    }
  });
}

/** Returns the tags of a Telemetry. Formatters require Istio 1.29. */
export function telemetryTags(q: QueryContext, tags: Readonly<Record<string, TelemetryTag>>): readonly TraceTag[] {
  return Object.entries(tags).flatMap(([tag, { type }]) => {
    switch (type.case) {
      case "literal":
        return [literalTag(tag, type.value.value)];
      case "environment":
        return [encodeTag({ tag, type: { case: "environment", value: named(type.value) } })];
      case "header":
        return [encodeTag({ tag, type: { case: "requestHeader", value: named(type.value) } })];
      case "formatter":
        return q.ask(versionAtLeast, [1, 29, 0])
          ? [encodeTag({ tag, type: { case: "value", value: type.value.value } })]
          : [];
      default:
        return [];
    }
  });
}

const dryRunTags: readonly TraceTag[] = ["allow", "deny"].flatMap((action) => [
  dryRunTag(`istio.authorization.dry_run.${action}_policy.name`, `istio_dry_run_${action}_shadow_effective_policy_id`),
  dryRunTag(`istio.authorization.dry_run.${action}_policy.result`, `istio_dry_run_${action}_shadow_engine_result`),
]);

function dryRunTag(tag: string, key: string): TraceTag {
  return encodeTag({
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

function encodeTag(tag: MessageInitShape<typeof CustomTagSchema> & { readonly tag: string }): TraceTag {
  return {
    name: tag.tag,
    bytes: encodeMessageField(tagsField, [toBinary(CustomTagSchema, create(CustomTagSchema, tag))]),
  };
}

/** Encoded by hand for speed, since every workload has tags of its own. */
function literalTag(name: string, value: string): TraceTag {
  const { tag, literal: text } = CustomTagSchema.field;
  return {
    name,
    bytes: encodeMessageField(tagsField, [
      encodeStringField(tag.number, name),
      encodeMessageField(text.number, [encodeStringField(LiteralSchema.field.value.number, value)]),
    ]),
  };
}

function named({ name, defaultValue }: { readonly name: string; readonly defaultValue: string }) {
  return { name, defaultValue };
}
