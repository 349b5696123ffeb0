import { collection, index } from "@istiod/incremental";
import {
  PeerAuthenticationSchema,
  type PeerAuthentication,
} from "@istiod/istio-api/security/v1beta1/peer_authentication";
import type { ConfigObject } from "../../config-object.js";
import { discoveryNamespacesFilter } from "../../mesh/discovered-namespaces.js";
import { isPort } from "../../validation/network/addresses.js";
import type { Place } from "../../validation/place.js";
import { checkProduct } from "../../validation/products.js";
import { notEmpty, type Shape } from "../../validation/shape.js";
import { checkSelector, selectorShape } from "../../validation/targets.js";
import { selections } from "../selections.js";
import { istioKind } from "./istio-kind.js";

export type PeerAuthenticationObject = ConfigObject<PeerAuthentication>;

export const peerAuthentications = collection<PeerAuthenticationObject>("PeerAuthentication", {
  filter: discoveryNamespacesFilter,
});

export const peerAuthenticationsByNamespace = index(peerAuthentications, "byNamespace", (v) => [v.namespace]);

/** STRICT policies in place of rejected policies without a good version. */
export const rejectedPeerAuthentications = collection<PeerAuthenticationObject>("RejectedPeerAuthentication", {
  filter: discoveryNamespacesFilter,
});

export const rejectedPeerAuthenticationsByNamespace = index(rejectedPeerAuthentications, "byNamespace", (v) => [
  v.namespace,
]);

const shape: Shape = { ...selectorShape, portLevelMtls: notEmpty };

export const peerAuthenticationKind = istioKind({
  kind: "PeerAuthentication",
  group: "security.istio.io",
  versions: ["v1", "v1beta1"],
  schema: PeerAuthenticationSchema,
  collection: peerAuthentications,
  shape,
  failClosed: {
    collection: rejectedPeerAuthentications,
    effect: "mutual TLS is STRICT on every port",
    substitutes: (body) =>
      selections(body, "selector").map((selection) => ({ ...selection, mtls: { mode: "STRICT" } })),
  },
  validate,
});

/** Validates a spec as Istio's `ValidatePeerAuthentication` does. */
function validate({ spec }: PeerAuthenticationObject, place: Place): void {
  const ports = Object.keys(spec.portLevelMtls);
  if (ports.length > 0 && Object.keys(spec.selector?.matchLabels ?? {}).length === 0)
    place.at("portLevelMtls").error("is set, expected also a selector with labels");
  checkProduct("modes", "ports with filter chains", [["ports", ports.length]], place.at("portLevelMtls"));
  for (const port of ports)
    if (!isPort(Number(port)))
      place.at("portLevelMtls", port).error(`is for port ${port}, expected a port from 1 to 65535`);
  checkSelector(spec.selector, place.at("selector"));
}
