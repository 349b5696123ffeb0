import { collection, index } from "@istiod/incremental";
import { PeerAuthenticationSchema, type PeerAuthentication } from "@istiod/istio-api/security/v1beta1/peer_authentication";
import type { ConfigObject } from "../config-object.js";
import { istioKind } from "./istio-kind.js";

export type PeerAuthenticationObject = ConfigObject<PeerAuthentication>;

export const peerAuthentications = collection<PeerAuthenticationObject>("PeerAuthentication");

export const peerAuthenticationsByNamespace = index(peerAuthentications, "byNamespace", (v) => [v.namespace]);

export const peerAuthenticationKind = istioKind({
  kind: "PeerAuthentication",
  group: "security.istio.io",
  versions: ["v1", "v1beta1"],
  schema: PeerAuthenticationSchema,
  collection: peerAuthentications,
});
