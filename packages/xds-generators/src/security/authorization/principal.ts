import { create } from "@bufbuild/protobuf";
import { type Principal, PrincipalSchema } from "@istiod/envoy-api/envoy/config/rbac/v3/rbac";
import type { StringMatcher } from "@istiod/envoy-api/envoy/type/matcher/v3/string";

export type { Principal };

/** One kind of principal of Envoy's RBAC, by the name of its field. */
export function principal<C extends NonNullable<Principal["identifier"]["case"]>>(
  kind: C,
  value: Extract<Principal["identifier"], { case: C }>["value"],
): Principal {
  return create(PrincipalSchema, { identifier: { case: kind, value } as Principal["identifier"] });
}

export const anyPrincipal = principal("any", true);

export function everyPrincipal(ids: readonly Principal[]): Principal {
  return create(PrincipalSchema, { identifier: { case: "andIds", value: { ids: [...ids] } } });
}

export function somePrincipal(ids: readonly Principal[]): Principal {
  return create(PrincipalSchema, { identifier: { case: "orIds", value: { ids: [...ids] } } });
}

export function notPrincipal(id: Principal): Principal {
  return principal("notId", id);
}

/** Keys of the filter state in which the end of a tunnel leaves the SPIFFE IDs of both peers. */
export const peerPrincipalKey = "io.istio.peer_principal";
export const localPrincipalKey = "io.istio.local_principal";

/** Where the peer's identity is found: in its certificate, or, behind a tunnel, in what the tunnel's end left in filter state. */
export type PeerIdentitySource = "certificate" | "filterState";

/** A peer with this SPIFFE ID. */
export function authenticatedPeer(name: StringMatcher, source: PeerIdentitySource): Principal {
  if (source === "certificate")
    return create(PrincipalSchema, { identifier: { case: "authenticated", value: { principalName: name } } });
  return create(PrincipalSchema, {
    identifier: {
      case: "filterState",
      value: { key: peerPrincipalKey, matcher: { case: "stringMatch", value: name } },
    },
  });
}
