import { create } from "@bufbuild/protobuf";
import {
  type HeaderValueOption,
  HeaderValueOption_HeaderAppendAction as AppendAction,
  HeaderValueOptionSchema,
} from "@istiod/envoy-api/envoy/config/core/v3/base";
import type { Headers } from "@istiod/istio-api/networking/v1alpha3/virtual_service";

/** Changes of headers in the form that routes and weighted clusters take. */
interface HeaderOperations {
  readonly requestHeadersToAdd: HeaderValueOption[];
  readonly requestHeadersToRemove: string[];
  readonly responseHeadersToAdd: HeaderValueOption[];
  readonly responseHeadersToRemove: string[];
  /** The host that requests are given; it is no header to Envoy. Empty: unchanged. */
  readonly authority: string;
}

/** Envoy's form of what a route does to headers; pseudo headers are left out, as Envoy refuses them. */
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
