import { collection } from "@istiod/incremental";
import { meshKey, type ConfigObject } from "../../config-object.js";
import { discoveryNamespacesFilter } from "../../mesh/discovered-namespaces.js";
import { isIstioKey } from "../istio/istio-keys.js";
import { declareKind, type Kind } from "../kind.js";

/** Read to report that it has no effect. */
export const udpRouteKind = kindWithoutEffect("UDPRoute", ["v1", "v1alpha2"]);

/** Read to report that it has no effect. */
export const experimentalListenerSetKind = kindWithoutEffect(
  "XListenerSet",
  ["v1alpha1"],
  "gateway.networking.x-k8s.io",
);

function kindWithoutEffect(kind: string, versions: readonly string[], group = "gateway.networking.k8s.io"): Kind {
  return declareKind<Readonly<Record<string, never>>, undefined>({
    kind,
    group,
    versions,
    scope: "namespaced",
    nameRule: "mixedCaseSubdomain",
    collection: collection<ConfigObject<Readonly<Record<string, never>>>>(kind, { filter: discoveryNamespacesFilter }),
    labels: isIstioKey,
    annotations: isIstioKey,
    conditions: ["Accepted", "Programmed", "ResolvedRefs"],
    fields: {},
    key: meshKey,
    decode: () => ({ spec: {} }),
  });
}
