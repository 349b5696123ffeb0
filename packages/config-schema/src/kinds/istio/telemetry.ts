import { collection, index } from "@istiod/incremental";
import {
  AccessLoggingSchema,
  MetricsOverrides_TagOverride_Operation as Operation,
  MetricsOverridesSchema,
  TelemetrySchema,
  type ProviderRef,
  type Telemetry,
  type Tracing,
  TracingSchema,
} from "@istiod/istio-api/telemetry/v1alpha1/telemetry";
import type { ConfigObject } from "../../config-object.js";
import { discoveryNamespacesFilter } from "../../mesh/discovered-namespaces.js";
import { checkOptionalDuration } from "../../validation/durations.js";
import { conditionFault } from "../../validation/cel/attribute-types.js";
import { attributeFault } from "../../validation/cel/attributes.js";
import { checkExpression } from "../../validation/expression.js";
import { checkHeaderName } from "../../validation/format-string/header-value.js";
import { checkFormatString } from "../../validation/format-string/format-string.js";
import { checkRange } from "../../validation/numbers.js";
import { each, type Place } from "../../validation/place.js";
import { checkProduct, encodedSize } from "../../validation/products.js";
import { notEmpty, range, required, type Shape } from "../../validation/shape.js";
import { attachmentShape, checkAttachment } from "../../validation/targets.js";
import { istioKind } from "./istio-kind.js";
import { checkOverriddenOverrides, isForAllMetrics } from "./metric-overrides.js";

export type TelemetryObject = ConfigObject<Telemetry>;

export const telemetries = collection<TelemetryObject>("Telemetry", { filter: discoveryNamespacesFilter });

export const telemetriesByNamespace = index(telemetries, "byNamespace", (v) => [v.namespace]);

const shape: Shape = {
  ...attachmentShape,
  "accessLogging[].providers[]": required("name"),
  "metrics[].providers[]": required("name"),
  "tracing[].providers[]": required("name"),
  "metrics[].overrides[].match.customMetric": notEmpty,
  "tracing[].customTags.*.environment": required("name"),
  "tracing[].customTags.*.header": required("name"),
  "tracing[].customTags.*.literal": required("value"),
  "tracing[].customTags.*.formatter": required("value"),
  "tracing[].randomSamplingPercentage": range(0, 100),
};

export const telemetryKind = istioKind({
  kind: "Telemetry",
  group: "telemetry.istio.io",
  versions: ["v1", "v1alpha1"],
  schema: TelemetrySchema,
  collection: telemetries,
  shape,
  validate,
});

/** Validates a spec as Istio's `ValidateTelemetry` does. */
function validate({ spec }: TelemetryObject, place: Place): void {
  checkAttachment(spec, place);
  each(spec.metrics, place.at("metrics"), (metrics, at) => {
    checkProviders(metrics.providers, at.at("providers"));
    checkOptionalDuration(metrics.reportingInterval, at.at("reportingInterval"));
    checkOverriddenOverrides(metrics.overrides, at.at("overrides"));
    each(metrics.overrides, at.at("overrides"), ({ tagOverrides }, override) => {
      for (const [tag, { operation, value }] of Object.entries(tagOverrides)) {
        const valueAt = override.at("tagOverrides", tag, "value");
        if (tag === "") override.at("tagOverrides").warning("has an empty name, expected the name of a tag");
        if (operation === Operation.UPSERT && value === "")
          valueAt.error("is missing, expected a value where the operation is UPSERT");
        const fault = value === "" ? undefined : attributeFault(value);
        if (fault !== undefined)
          valueAt.warning(`${fault}, so that the tag is always "unknown"; quote text: "'production'"`, "no-effect");
        if (operation === Operation.REMOVE && value !== "")
          valueAt.error("is set, expected none where the operation is REMOVE");
      }
    });
  });
  checkTracing(spec.tracing, place.at("tracing"));
  each(spec.accessLogging, place.at("accessLogging"), (logging, at) => {
    checkProviders(logging.providers, at.at("providers"));
    if (logging.filter !== undefined) {
      const expressionAt = at.at("filter", "expression");
      checkExpression(logging.filter.expression, expressionAt);
      const fault = attributeFault(logging.filter.expression);
      if (fault !== undefined) expressionAt.warning(`${fault}, so that no request is logged`, "never-matches");
      const typeFault = conditionFault(logging.filter.expression);
      if (typeFault !== undefined) expressionAt.warning(typeFault, "never-matches");
    }
  });
  checkBytes(spec, place);
}

/** Number of Istio's metrics, each of which repeats the overrides of all metrics. */
const metricsCount = 10;

/** Bounds what each filter chain repeats: tags, filters, and overrides for each metric and provider. */
function checkBytes({ metrics, tracing, accessLogging }: Telemetry, place: Place): void {
  let bytes = encodedSize(TracingSchema, tracing) + encodedSize(AccessLoggingSchema, accessLogging);
  for (const { overrides, providers } of metrics)
    for (const override of overrides) {
      const copies = Math.max(1, providers.length) * (isForAllMetrics(override.match) ? metricsCount : 1);
      bytes += copies * encodedSize(MetricsOverridesSchema, [override]);
    }
  checkProduct("telemetryBytes", "bytes", [["bytes of tags, filters, and overrides × metrics", bytes]], place);
}

function checkTracing(tracing: readonly Tracing[], place: Place): void {
  if (tracing.length > 1) place.warning(`has ${tracing.length} elements, of which only the first has an effect`);
  each(tracing, place, (t, at) => {
    if (t.providers.length > 1)
      at.at("providers").warning(`has ${t.providers.length} elements, of which only the first has an effect`);
    checkProviders(t.providers, at.at("providers"));
    checkRange(t.randomSamplingPercentage ?? 0, 0, 100, at.at("randomSamplingPercentage"));
    for (const [tag, { type }] of Object.entries(t.customTags)) {
      const tagAt = at.at("customTags", tag);
      if (tag === "") tagAt.error("has an empty name, expected the name of a tag");
      if (type.case === undefined) continue;
      const text = type.case === "literal" || type.case === "formatter" ? type.value.value : type.value.name;
      if (text === "") tagAt.at(type.case).error("is empty, expected a value");
      else if (type.case === "formatter") checkFormatString(text, tagAt.at("formatter", "value"));
      else if (type.case === "header") checkHeaderName(text, tagAt.at("header", "name"));
    }
  });
}

function checkProviders(providers: readonly ProviderRef[], place: Place): void {
  each(providers, place, ({ name }, at) => {
    if (name === "") at.at("name").error("is empty, expected the name of an extension provider");
  });
}
