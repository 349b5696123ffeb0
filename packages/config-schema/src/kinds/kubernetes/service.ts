import { collection, index } from "@istiod/incremental";
import { clusterKey, type ConfigObject } from "../../config-object.js";
import { Fields } from "../../decoding/fields.js";
import { discoveryNamespacesFilter } from "../../mesh/discovered-namespaces.js";
import {
  checkedString,
  checkedStrings,
  checkSelectorLabels,
  expectedAddress,
  expectedLabel,
  expectedPortName,
} from "../../validation/kubernetes/fields.js";
import {
  isContainerPortName,
  isLabelKey,
  isLowerCaseLabel,
  isPlainIpAddress,
  isSubdomain,
} from "../../validation/kubernetes/names.js";
import { isIstioKey } from "../istio/istio-keys.js";
import { declareKind } from "../kind.js";

export interface ServicePortSpec {
  readonly name: string;
  readonly port: number;
  /** `TCP`, `UDP` or `SCTP`. */
  readonly protocol: string;
  readonly appProtocol?: string;
  /** Number, or name of a container port. */
  readonly targetPort?: number | string;
  readonly nodePort?: number;
}

export interface ServiceSpec {
  /** `ClusterIP`, `NodePort`, `LoadBalancer` or `ExternalName`. */
  readonly type: string;
  /** Empty if not allocated; `None` for a headless service. */
  readonly clusterIP: string;
  readonly clusterIPs: readonly string[];
  readonly externalIPs: readonly string[];
  readonly externalName: string;
  readonly ports: readonly ServicePortSpec[];
  /** Undefined: no selector; endpoints are managed by others. */
  readonly selector?: Readonly<Record<string, string>>;
  readonly publishNotReadyAddresses: boolean;
  readonly internalTrafficPolicy?: string;
  readonly trafficDistribution?: string;
}

export interface LoadBalancerIngress {
  readonly ip?: string;
  readonly hostname?: string;
}

export interface ServiceStatus {
  readonly loadBalancer: readonly LoadBalancerIngress[];
}

export type ServiceObject = ConfigObject<ServiceSpec, ServiceStatus>;

/** Services by `cluster/ns/name`. */
export const services = collection<ServiceObject>("Service", { filter: discoveryNamespacesFilter });

/** Services of all clusters by namespace. */
export const servicesByNamespace = index(services, "byNamespace", (s) => [s.namespace]);

/** The values of `trafficDistribution` that proxies follow. */
const trafficDistributions = ["PreferClose", "PreferSameZone", "PreferSameNode"];

export const serviceKind = declareKind<ServiceSpec, ServiceStatus>({
  kind: "Service",
  group: "",
  versions: ["v1"],
  scope: "namespaced",
  nameRule: "label",
  collection: services,
  labels: "all",
  annotations: isIstioKey,
  conditions: ["istio.io/WaypointBound"],
  fields: {
    spec: {
      type: true,
      clusterIP: true,
      clusterIPs: true,
      externalIPs: true,
      externalName: true,
      ports: { name: true, port: true, protocol: true, appProtocol: true, targetPort: true, nodePort: true },
      selector: true,
      publishNotReadyAddresses: true,
      internalTrafficPolicy: true,
      trafficDistribution: true,
    },
    status: { loadBalancer: { ingress: { ip: true, hostname: true } } },
  },
  key: clusterKey,
  decode(manifest, report) {
    const body = Fields.of(manifest.body, report);
    const spec = body.object("spec");
    const selector = spec.optionalStringMap("selector");
    checkSelectorLabels(spec, "selector", selector.selector);
    for (const p of spec.list("ports")) {
      checkedString(p, "appProtocol", isLabelKey, "an IANA service name or a name with a domain as prefix");
      if (p.isString("targetPort")) checkedString(p, "targetPort", isContainerPortName, expectedPortName);
    }
    const distribution = spec.optionalString("trafficDistribution").trafficDistribution ?? "";
    if (distribution !== "" && !trafficDistributions.includes(distribution))
      spec.warn(
        ["trafficDistribution"],
        `is ${JSON.stringify(distribution)}, which proxies ignore, expected ${trafficDistributions.join(", ")}`,
        "no-effect",
      );
    const loadBalancer = body
      .object("status")
      .object("loadBalancer")
      .list("ingress")
      .map((i) => ({ ...i.optionalString("ip"), ...i.optionalString("hostname") }));
    return {
      spec: {
        type: spec.string("type", "ClusterIP"),
        clusterIP: checkedString(spec, "clusterIP", isClusterIp, expectedAddress),
        clusterIPs: checkedStrings(spec, "clusterIPs", isClusterIp, expectedAddress),
        externalIPs: checkedStrings(spec, "externalIPs", isPlainIpAddress, expectedAddress),
        externalName: checkedString(spec, "externalName", isExternalName, "a domain name in lower case"),
        ports: spec.list("ports").map((p) => ({
          name: checkedString(p, "name", isLowerCaseLabel, expectedLabel),
          port: p.port("port"),
          protocol: p.string("protocol", "TCP"),
          ...p.optionalString("appProtocol"),
          ...p.optionalPortOrName("targetPort"),
          ...p.optionalPort("nodePort"),
        })),
        ...selector,
        publishNotReadyAddresses: spec.boolean("publishNotReadyAddresses"),
        ...spec.optionalString("internalTrafficPolicy"),
        ...spec.optionalString("trafficDistribution"),
      },
      ...(loadBalancer.length > 0 && { status: { loadBalancer } }),
    };
  },
});

/** Reports whether a string is the cluster IP of a Service: an address, or `None` for a headless one. */
function isClusterIp(text: string): boolean {
  return text === "None" || text === "" || isPlainIpAddress(text);
}

function isExternalName(text: string): boolean {
  return isSubdomain(text.endsWith(".") ? text.slice(0, -1) : text);
}
