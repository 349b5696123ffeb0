import { collection } from "@istiod/incremental";
import { clusterKey, type ConfigObject } from "../../config-object.js";
import { Fields } from "../../decoding/fields.js";
import { discoveryNamespacesFilter } from "../../mesh/discovered-namespaces.js";
import { isIstioKey } from "../istio/istio-keys.js";
import { declareKind } from "../kind.js";

export interface KubernetesGatewayListener {
  readonly name: string;
  /** Undefined: all hosts. */
  readonly hostname?: string;
  readonly port: number;
  /** For example `HTTP`, `HTTPS` or `TLS`. */
  readonly protocol: string;
}

export interface KubernetesGatewaySpec {
  readonly gatewayClassName: string;
  readonly listeners: readonly KubernetesGatewayListener[];
}

/** A Gateway of the Gateway API. */
export type KubernetesGatewayObject = ConfigObject<KubernetesGatewaySpec>;

/** The Gateway API's Gateways by `cluster/ns/name`, read by analysis only. */
export const kubernetesGateways = collection<KubernetesGatewayObject>("KubernetesGateway", {
  filter: discoveryNamespacesFilter,
});

export const kubernetesGatewayKind = declareKind<KubernetesGatewaySpec, undefined>({
  kind: "Gateway",
  group: "gateway.networking.k8s.io",
  versions: ["v1", "v1beta1"],
  scope: "namespaced",
  nameRule: "mixedCaseSubdomain",
  collection: kubernetesGateways,
  labels: "all",
  annotations: isIstioKey,
  conditions: ["Accepted", "Programmed", "ResolvedRefs"],
  fields: {
    spec: { gatewayClassName: true, listeners: { name: true, hostname: true, port: true, protocol: true } },
  },
  key: clusterKey,
  decode(manifest, report) {
    const spec = Fields.of(manifest.body, report).object("spec");
    const listeners = spec.list("listeners").map((l) => ({
      name: l.string("name"),
      ...l.optionalString("hostname"),
      port: l.port("port"),
      protocol: l.string("protocol"),
    }));
    return { spec: { gatewayClassName: spec.string("gatewayClassName"), listeners } };
  },
});
