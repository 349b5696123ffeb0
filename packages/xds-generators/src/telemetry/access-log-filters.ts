/**
 * The kinds of access logs: requests, TCP connections, connections without a matching filter chain, HBONE tunnels that
 * failed to open, and HBONE tunnels that were rejected. Of working tunnels, only the connections inside are logged.
 */

import { create } from "@bufbuild/protobuf";
import {
  type AccessLogFilter,
  AccessLogFilterSchema,
  ComparisonFilter_Op,
} from "@istiod/envoy-api/envoy/config/accesslog/v3/accesslog";
import type { AccessLogType } from "@istiod/envoy-api/envoy/data/accesslog/v3/accesslog";
import { ExpressionFilterSchema } from "@istiod/envoy-api/envoy/extensions/access_loggers/filters/cel/v3/cel";
import { packAny } from "../envoy/any.js";

export type AccessLogKind = "http" | "tcp" | "listener" | "hbone-origination" | "hbone-termination";

/** Matches statuses from 400. Envoy's API requires a runtime key; this one is never set. */
const failedRequest = create(AccessLogFilterSchema, {
  filterSpecifier: {
    case: "statusCodeFilter",
    value: { comparison: { op: ComparisonFilter_Op.GE, value: { defaultValue: 400, runtimeKey: "istio.io/unset" } } },
  },
});

/** Filters by which one part of a listener omits what another part logs. */
export const defaultFilters: Readonly<Partial<Record<AccessLogKind, AccessLogFilter>>> = {
  listener: responseFlagFilter("NR"),
  "hbone-origination": responseFlagFilter("UF"),
  "hbone-termination": failedRequest,
};

export function celFilter(expression: string): AccessLogFilter {
  const typedConfig = packAny(ExpressionFilterSchema, { expression });
  return create(AccessLogFilterSchema, {
    filterSpecifier: {
      case: "extensionFilter",
      value: {
        name: "envoy.access_loggers.extension_filters.cel",
        configType: { case: "typedConfig", value: typedConfig },
      },
    },
  });
}

export function andFilter(filters: readonly AccessLogFilter[]): AccessLogFilter | undefined {
  return filters.length < 2
    ? filters[0]
    : create(AccessLogFilterSchema, { filterSpecifier: { case: "andFilter", value: { filters: [...filters] } } });
}

export function orFilter(filters: readonly AccessLogFilter[]): AccessLogFilter {
  return create(AccessLogFilterSchema, { filterSpecifier: { case: "orFilter", value: { filters: [...filters] } } });
}

/** Matches requests and connections with any of the response flags. */
export function responseFlagFilter(...flags: readonly string[]): AccessLogFilter {
  return create(AccessLogFilterSchema, {
    filterSpecifier: { case: "responseFlagFilter", value: { flags: [...flags] } },
  });
}

/** Matches what is logged at one point in the life of a request or a connection. */
export function logTypeFilter(type: AccessLogType): AccessLogFilter {
  return create(AccessLogFilterSchema, { filterSpecifier: { case: "logTypeFilter", value: { types: [type] } } });
}
