import { collection, index } from "@istiod/incremental";
import { clusterKey, type ConfigObject } from "../../config-object.js";
import { Fields } from "../../decoding/fields.js";
import { discoveryNamespacesFilter } from "../../mesh/discovered-namespaces.js";
import {
  checkedString,
  checkedStrings,
  expectedAddress,
  expectedLabel,
  expectedSubdomain,
  optional,
} from "../../validation/kubernetes/fields.js";
import { isLowerCaseLabel, isPlainIpAddress, isSubdomain } from "../../validation/kubernetes/names.js";
import { isIstioKey } from "../istio/istio-keys.js";
import { declareKind } from "../kind.js";

export interface SliceEndpoint {
  readonly addresses: readonly string[];
  /** Conditions, with Istio's defaults: ready, serving, and terminating if not ready. */
  readonly ready: boolean;
  readonly serving: boolean;
  readonly terminating: boolean;
  readonly hostname?: string;
  readonly nodeName?: string;
  readonly zone?: string;
  readonly targetRef?: { readonly kind: string; readonly namespace: string; readonly name: string };
}

export interface SlicePort {
  readonly name: string;
  /** Undefined: all ports. */
  readonly port?: number;
  readonly protocol: string;
  readonly appProtocol?: string;
}

export interface EndpointSliceSpec {
  /** `IPv4`, `IPv6` or `FQDN`. */
  readonly addressType: string;
  /** Name of the Service in the same namespace; empty if the slice belongs to none. */
  readonly service: string;
  readonly endpoints: readonly SliceEndpoint[];
  readonly ports: readonly SlicePort[];
}

export type EndpointSliceObject = ConfigObject<EndpointSliceSpec>;

/** EndpointSlices by `cluster/ns/name`. */
export const endpointSlices = collection<EndpointSliceObject>("EndpointSlice", { filter: discoveryNamespacesFilter });

/** EndpointSlices by service, `cluster/ns/service`. */
export const endpointSlicesByService = index(endpointSlices, "byService", (s) =>
  s.spec.service === "" ? [] : [`${s.cluster}/${s.namespace}/${s.spec.service}`],
);

const serviceNameLabel = "kubernetes.io/service-name";
const mcsServiceNameLabel = "multicluster.kubernetes.io/service-name";

export const endpointSliceKind = declareKind<EndpointSliceSpec, undefined>({
  kind: "EndpointSlice",
  group: "discovery.k8s.io",
  versions: ["v1"],
  scope: "namespaced",
  collection: endpointSlices,
  labels: (key) => key === mcsServiceNameLabel || isIstioKey(key),
  annotations: isIstioKey,
  fields: {
    addressType: true,
    endpoints: {
      addresses: true,
      conditions: { ready: true, serving: true, terminating: true },
      hostname: true,
      nodeName: true,
      zone: true,
      targetRef: { kind: true, namespace: true, name: true },
    },
    ports: { name: true, port: true, protocol: true, appProtocol: true },
  },
  key: clusterKey,
  decode(manifest, report) {
    const body = Fields.of(manifest.body, report);
    const addressType = body.string("addressType", "IPv4");
    const isValid = addressType === "FQDN" ? isSubdomain : isPlainIpAddress;
    return {
      spec: {
        addressType,
        service: body.object("metadata").stringMap("labels")[serviceNameLabel] ?? "",
        endpoints: body.list("endpoints").map((e) => {
          const conditions = e.object("conditions");
          const ready = conditions.boolean("ready", true);
          const target = e.object("targetRef");
          return {
            addresses: checkedStrings(
              e,
              "addresses",
              isValid,
              addressType === "FQDN" ? "a domain name" : expectedAddress,
            ),
            ready,
            serving: conditions.boolean("serving", true),
            terminating: conditions.boolean("terminating", !ready),
            ...optional("hostname", checkedString(e, "hostname", isLowerCaseLabel, expectedLabel)),
            ...optional("nodeName", checkedString(e, "nodeName", isSubdomain, expectedSubdomain)),
            ...e.optionalString("zone"),
            ...(target.present && {
              targetRef: {
                kind: target.string("kind"),
                namespace: target.string("namespace", manifest.namespace),
                name: target.string("name"),
              },
            }),
          };
        }),
        ports: body.list("ports").map((p) => ({
          name: checkedString(p, "name", isLowerCaseLabel, expectedLabel),
          ...p.optionalPort("port"),
          protocol: p.string("protocol", "TCP"),
          ...p.optionalString("appProtocol"),
        })),
      },
    };
  },
});
