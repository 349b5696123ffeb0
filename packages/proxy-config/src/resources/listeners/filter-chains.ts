import type { Listener } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import type { FilterChain } from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";

/** Returns the filter chains of a listener, the default one last. */
export function filterChains({ filterChains: chains, defaultFilterChain }: Listener): readonly FilterChain[] {
  return defaultFilterChain === undefined ? chains : [...chains, defaultFilterChain];
}
