import { collection, index } from "@istiod/incremental";
import { meshKey, type ConfigObject } from "../../config-object.js";
import { Fields } from "../../decoding/fields.js";
import { discoveryNamespacesFilter } from "../../mesh/discovered-namespaces.js";
import { isIstioKey } from "../istio/istio-keys.js";
import { warnOfOthers } from "./field-rules.js";
import { declareKind } from "../kind.js";
import { decodeListeners, type KubernetesGatewayListener } from "./listener.js";
import { decodeReference, type ObjectReference } from "./references.js";

export interface ListenerSetSpec {
  /** The object whose listeners the set extends, by default a Gateway of its namespace. */
  readonly parentRef: ObjectReference;
  readonly listeners: readonly KubernetesGatewayListener[];
}

export type ListenerSetObject = ConfigObject<ListenerSetSpec>;

/** ListenerSets of the config cluster, by `ns/name`. */
export const listenerSets = collection<ListenerSetObject>("ListenerSet", { filter: discoveryNamespacesFilter });

/** ListenerSets by the key of the Gateway that they extend. */
export const listenerSetsByGateway = index(listenerSets, "byGateway", ({ namespace, spec: { parentRef } }) =>
  (parentRef.group ?? "gateway.networking.k8s.io") === "gateway.networking.k8s.io" &&
  (parentRef.kind ?? "Gateway") === "Gateway"
    ? [`${parentRef.namespace ?? namespace}/${parentRef.name}`]
    : [],
);

export const listenerSetKind = declareKind<ListenerSetSpec, undefined>({
  kind: "ListenerSet",
  group: "gateway.networking.k8s.io",
  versions: ["v1"],
  scope: "namespaced",
  nameRule: "mixedCaseSubdomain",
  collection: listenerSets,
  labels: isIstioKey,
  annotations: isIstioKey,
  conditions: ["Accepted", "Programmed", "ResolvedRefs"],
  fields: { spec: true },
  hasGeneration: true,
  key: meshKey,
  decode(manifest, report) {
    const spec = Fields.of(manifest.body, report).object("spec");
    warnOfOthers(spec, ["parentRef", "listeners"]);
    return {
      spec: { parentRef: decodeReference(spec.object("parentRef")), listeners: decodeListeners(spec, false) },
    };
  },
});
