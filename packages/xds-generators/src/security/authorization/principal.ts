import { create } from "@bufbuild/protobuf";
import { type Principal, PrincipalSchema } from "@istiod/envoy-api/envoy/config/rbac/v3/rbac";
import type { StringMatcher } from "@istiod/envoy-api/envoy/type/matcher/v3/string";

export type { Principal };

/** Returns an RBAC principal by the name of its field. */
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

/** Filter state keys in which the tunnel's end stores the SPIFFE IDs of both peers. */
export const peerPrincipalKey = "io.istio.peer_principal";
export const localPrincipalKey = "io.istio.local_principal";

/** The source of the peer's identity: its certificate or, inside a tunnel, filter state. */
export type PeerIdentitySource = "certificate" | "filterState";

/** Matches a peer by SPIFFE ID. */
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
