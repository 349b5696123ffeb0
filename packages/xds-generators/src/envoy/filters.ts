import { create } from "@bufbuild/protobuf";
import type { Any } from "@bufbuild/protobuf/wkt";
import {
  type Filter,
  FilterSchema,
  type ListenerFilter,
  ListenerFilterSchema,
} from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import {
  type HttpFilter,
  HttpFilterSchema,
} from "@istiod/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager";

export type { Filter, HttpFilter, ListenerFilter };

/** An HTTP filter. */
export function httpFilter(name: string, typedConfig: Any): HttpFilter {
  return create(HttpFilterSchema, { name, configType: { case: "typedConfig", value: typedConfig } });
}

/** A network filter. */
export function networkFilter(name: string, typedConfig: Any): Filter {
  return create(FilterSchema, { name, configType: { case: "typedConfig", value: typedConfig } });
}

/** A listener filter, which runs before a filter chain is selected. */
export function listenerFilter(name: string, typedConfig: Any): ListenerFilter {
  return create(ListenerFilterSchema, { name, configType: { case: "typedConfig", value: typedConfig } });
}
