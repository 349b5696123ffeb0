import { query } from "@istiod/incremental";
import type { LocalityLbEndpoints } from "@istiod/envoy-api/envoy/config/endpoint/v3/endpoint_components";
import type { ScopedService } from "@istiod/push-context";

/** A cluster that is sent with its endpoints, since the proxy resolves their names. */
export interface InlineEndpointsRef {
  readonly service: ScopedService;
  readonly port: number;
  readonly subset: string;
  readonly clusterName: string;
}

/** The endpoints of such a cluster by locality, in the order in which the client prefers them. */
export const inlineEndpointsOf = query("inlineEndpointsOf", (_q, _ref: InlineEndpointsRef): readonly LocalityLbEndpoints[] => []);
