import type { GrpcFeature } from "@istiod/push-context";

/** The context of the routes of a virtual host. */
export interface AcceptedRouteContext {
  /** The cluster of the virtual host's own service, if it has one. */
  readonly cluster: string | undefined;
  /** Authorities of the client's targets that wildcards of the virtual host cover, and no other virtual host has. */
  readonly authorities: readonly string[];
  /** Reports whether the client's library has a feature. */
  readonly supports: (feature: GrpcFeature) => boolean;
  /** True if the library ends calls before their limit. */
  readonly endsCallsEarly: boolean;
}
