import { create } from "@bufbuild/protobuf";
import {
  type HeaderValueOption,
  HeaderValueOption_HeaderAppendAction as AppendAction,
  HeaderValueOptionSchema,
} from "@istiod/envoy-api/envoy/config/core/v3/base";
import type { Headers } from "@istiod/istio-api/networking/v1alpha3/virtual_service";

/** Header manipulations of a route or a weighted cluster. */
interface HeaderOperations {
  readonly requestHeadersToAdd: HeaderValueOption[];
  readonly requestHeadersToRemove: string[];
  readonly responseHeadersToAdd: HeaderValueOption[];
  readonly responseHeadersToRemove: string[];
  /** The new host of requests, which Envoy does not treat as a header. Empty: unchanged. */
  readonly authority: string;
}

/** Converts header manipulations to Envoy's form. Pseudo-headers are omitted, since Envoy rejects them. */
export function headerOperations({ request, response }: Headers): HeaderOperations {
  return {
    requestHeadersToAdd: [
      ...additions(request?.set, AppendAction.OVERWRITE_IF_EXISTS_OR_ADD),
      ...additions(request?.add, AppendAction.APPEND_IF_EXISTS_OR_ADD),
    ],
    requestHeadersToRemove: (request?.remove ?? []).filter(isSettable),
    responseHeadersToAdd: [
      ...additions(response?.set, AppendAction.OVERWRITE_IF_EXISTS_OR_ADD),
      ...additions(response?.add, AppendAction.APPEND_IF_EXISTS_OR_ADD),
    ],
    responseHeadersToRemove: (response?.remove ?? []).filter(isSettable),
    authority: authorityAmong(request?.set) || authorityAmong(request?.add),
  };
}

function additions(headers: Readonly<Record<string, string>> = {}, appendAction: AppendAction): HeaderValueOption[] {
  return Object.entries(headers)
    .filter(([key]) => isSettable(key))
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([key, value]) => create(HeaderValueOptionSchema, { header: { key, value }, appendAction }));
}

function authorityAmong(headers: Readonly<Record<string, string>> = {}): string {
  return Object.entries(headers).find(([key]) => ["host", ":authority"].includes(key.toLowerCase()))?.[1] ?? "";
}

function isSettable(key: string): boolean {
  return !key.startsWith(":") && key.toLowerCase() !== "host";
}
