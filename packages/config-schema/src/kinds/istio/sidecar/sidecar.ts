import { collection, index } from "@istiod/incremental";
import {
  OutboundTrafficPolicy_Mode as OutboundMode,
  SidecarSchema,
  type Sidecar,
} from "@istiod/istio-api/networking/v1alpha3/sidecar";
import type { ConfigObject } from "../../../config-object.js";
import { discoveryNamespacesFilter } from "../../../mesh/discovered-namespaces.js";
import { checkConnectionPool } from "../../../validation/traffic/connection-pool.js";
import { checkDestination } from "../../../validation/network/destination.js";
import { checkFqdn } from "../../../validation/network/names.js";
import type { Place } from "../../../validation/place.js";
import { serverTlsShape } from "../../../validation/traffic/server-tls.js";
import { required, type Shape } from "../../../validation/shape.js";
import { checkWorkloadSelector, workloadSelectorShape } from "../../../validation/targets.js";
import { record } from "../../../decoding/json.js";
import { selections } from "../../selections.js";
import { istioKind } from "../istio-kind.js";
import { checkEgress } from "./egress.js";
import { checkIngress } from "./ingress.js";

export type SidecarObject = ConfigObject<Sidecar>;

export const sidecars = collection<SidecarObject>("Sidecar", { filter: discoveryNamespacesFilter });

export const sidecarsByNamespace = index(sidecars, "byNamespace", (v) => [v.namespace]);

/** REGISTRY_ONLY Sidecars in place of rejected Sidecars without a good version. They do not limit visibility. */
export const rejectedSidecars = collection<SidecarObject>("RejectedSidecar", { filter: discoveryNamespacesFilter });

export const rejectedSidecarsByNamespace = index(rejectedSidecars, "byNamespace", (v) => [v.namespace]);

const shape: Shape = {
  ...workloadSelectorShape,
  "egress[]": required("hosts"),
  "ingress[]": required("port"),
  ...serverTlsShape("ingress[].tls"),
  "outboundTrafficPolicy.egressProxy": required("host"),
};

export const sidecarKind = istioKind({
  kind: "Sidecar",
  group: "networking.istio.io",
  versions: ["v1", "v1beta1", "v1alpha3"],
  schema: SidecarSchema,
  collection: sidecars,
  shape,
  failClosed: {
    collection: rejectedSidecars,
    effect: "outbound traffic to hosts outside of the registry is blocked (REGISTRY_ONLY)",
    substitutes: (body) =>
      leavesOutboundOpen(body)
        ? []
        : selections(body, "workloadSelector").map((selection) => ({
            ...selection,
            outboundTrafficPolicy: { mode: "REGISTRY_ONLY" },
          })),
  },
  validate,
});

/** Reports whether a Sidecar has no outbound traffic policy, or allows any destination. */
function leavesOutboundOpen(body: Readonly<Record<string, unknown>> | undefined): boolean {
  const spec = record(body?.["spec"]);
  if (spec === undefined) return false;
  const policy = spec["outboundTrafficPolicy"] ?? undefined;
  return policy === undefined || record(policy)?.["mode"] === "ALLOW_ANY";
}

/** Validates a spec as Istio's `ValidateSidecar` does. */
function validate({ spec, namespace }: SidecarObject, place: Place): void {
  checkWorkloadSelector(spec.workloadSelector, place.at("workloadSelector"));
  const { egress, ingress, outboundTrafficPolicy: policy, inboundConnectionPool } = spec;
  if (egress.length === 0 && ingress.length === 0 && policy === undefined && inboundConnectionPool === undefined) {
    place.error("is empty, expected egress, ingress, outboundTrafficPolicy or inboundConnectionPool");
  }
  checkIngress(ingress, place.at("ingress"));
  checkConnectionPool(inboundConnectionPool, place.at("inboundConnectionPool"));
  checkEgress(egress, namespace, place.at("egress"));
  if (policy !== undefined && OutboundMode[policy.mode] === undefined)
    place.at("outboundTrafficPolicy", "mode").error(`is ${policy.mode}, expected REGISTRY_ONLY or ALLOW_ANY`);
  if (policy?.egressProxy === undefined) return;
  const at = place.at("outboundTrafficPolicy", "egressProxy");
  if (policy.mode !== OutboundMode.ALLOW_ANY) at.error("is set, expected mode ALLOW_ANY");
  checkFqdn(policy.egressProxy.host, at.at("host"));
  if (policy.egressProxy.port === undefined) at.at("port").error("is missing, expected a port");
  checkDestination(policy.egressProxy, at);
}
