import { create } from "@bufbuild/protobuf";
import {
  type ListenerFilterChainMatchPredicate,
  ListenerFilterChainMatchPredicateSchema,
} from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import { HttpInspectorSchema } from "@istiod/envoy-api/envoy/extensions/filters/listener/http_inspector/v3/http_inspector";
import { OriginalDstSchema } from "@istiod/envoy-api/envoy/extensions/filters/listener/original_dst/v3/original_dst";
import { OriginalSrcSchema } from "@istiod/envoy-api/envoy/extensions/filters/listener/original_src/v3/original_src";
import { ProxyProtocolSchema } from "@istiod/envoy-api/envoy/extensions/filters/listener/proxy_protocol/v3/proxy_protocol";
import { TlsInspectorSchema } from "@istiod/envoy-api/envoy/extensions/filters/listener/tls_inspector/v3/tls_inspector";
import type { QueryContext } from "@istiod/incremental";
import { features } from "@istiod/push-context";
import { packAny } from "../envoy/any.js";
import { type ListenerFilter, listenerFilter } from "../envoy/filters.js";

/**
 * Detects SNI and ALPN. The initial buffer is 512 bytes rather than Envoy's 64 KiB, since every connection allocates
 * one.
 */
export const tlsInspector = listenerFilter(
  "envoy.filters.listener.tls_inspector",
  packAny(TlsInspectorSchema, { initialReadBufferSize: 512 }),
);
/** Detects plaintext HTTP. */
export const httpInspector = listenerFilter("envoy.filters.listener.http_inspector", packAny(HttpInspectorSchema));
export const originalDestination = listenerFilter("envoy.filters.listener.original_dst", packAny(OriginalDstSchema));
/** Connects upstream from the downstream address. The mark prevents such packets from being captured again. */
export const originalSource = listenerFilter(
  "envoy.filters.listener.original_src",
  packAny(OriginalSrcSchema, { mark: 1337 }),
);
export const proxyProtocol = listenerFilter("envoy.filters.listener.proxy_protocol", packAny(ProxyProtocolSchema));

/** Returns the filter, disabled at some destination ports. */
export function disableAtPorts(filter: ListenerFilter, ports: readonly number[]): ListenerFilter {
  return ports.length === 0 ? filter : { ...filter, filterDisabled: destinationPortIn(ports) };
}

/** Returns the filter, disabled at all destination ports except some. */
export function enableOnlyAtPorts(filter: ListenerFilter, ports: readonly number[]): ListenerFilter {
  if (ports.length === 0) return filter;
  return {
    ...filter,
    filterDisabled: create(ListenerFilterChainMatchPredicateSchema, {
      rule: { case: "notMatch", value: destinationPortIn(ports) },
    }),
  };
}

function destinationPortIn(ports: readonly number[]): ListenerFilterChainMatchPredicate {
  const rules = ports.map((port) =>
    create(ListenerFilterChainMatchPredicateSchema, {
      rule: { case: "destinationPortRange", value: { start: port, end: port + 1 } },
    }),
  );
  const [only] = rules;
  if (only !== undefined && rules.length === 1) return only;
  return create(ListenerFilterChainMatchPredicateSchema, { rule: { case: "orMatch", value: { rules } } });
}
/**
 * Returns the protocols that the HTTP inspector reports for plaintext HTTP. HTTP/1.0 is omitted unless Envoy accepts
 * it, so that it is proxied as TCP.
 */
export function plaintextHttpProtocols(q: QueryContext): readonly string[] {
  return features.http10(q) ? ["http/1.0", "http/1.1", "h2c"] : ["http/1.1", "h2c"];
}
