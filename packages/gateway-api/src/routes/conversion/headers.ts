import { create } from "@bufbuild/protobuf";
import type { HeaderModifier, RouteFilter } from "@istiod/config-schema";
import {
  type Headers,
  type Headers_HeaderOperations as Operations,
  Headers_HeaderOperationsSchema as OperationsSchema,
  HeadersSchema,
} from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { InvalidRouteError } from "../route-problem.js";

/**
 * Returns the headers that filters change; undefined if they change none.
 *
 * @throws InvalidRouteError if a value cannot be the value of a header
 */
export function headersOf(filters: readonly RouteFilter[]): Headers | undefined {
  const headers = create(HeadersSchema);
  for (const filter of filters) {
    if (filter.type === "RequestHeaderModifier") headers.request = operations(filter.requestHeaderModifier);
    if (filter.type === "ResponseHeaderModifier") headers.response = operations(filter.responseHeaderModifier);
  }
  return headers.request === undefined && headers.response === undefined ? undefined : headers;
}

function operations({ add, set, remove }: HeaderModifier): Operations {
  const invalid = [...set, ...add].find(({ value }) => /[\u0000-\u0008\u000a-\u001f\u007f]/.test(value));
  if (invalid !== undefined)
    throw new InvalidRouteError({
      reason: "InvalidFilter",
      message: `header "${invalid.name}" value contains invalid characters`,
    });
  return create(OperationsSchema, { add: byName(add), set: byName(set), remove: [...remove] });
}

/** Returns values by names in lower case. Of equal names the first one counts. */
function byName(headers: HeaderModifier["add"]): Record<string, string> {
  const values = new Map<string, string>();
  for (const { name, value } of headers) if (!values.has(name.toLowerCase())) values.set(name.toLowerCase(), value);
  return Object.fromEntries(values);
}
