import { collection } from "@istiod/incremental";
import { meshKey, type ConfigObject } from "../../config-object.js";
import { Fields } from "../../decoding/fields.js";
import { discoveryNamespacesFilter } from "../../mesh/discovered-namespaces.js";
import { warnOfIgnored, warnOfOthers } from "./field-rules.js";
import { declareKind } from "../kind.js";
import { isAnyText, optionalEnum, requiredString } from "./checked-fields.js";
import { decodeListeners, type KubernetesGatewayListener } from "./listener.js";
import { decodeNamespaceSelection, type NamespaceSelection } from "./namespace-selection.js";
import {
  decodeFullReference,
  decodeLocalReference,
  decodeReference,
  type FullReference,
  type LocalReference,
  type ObjectReference,
} from "./references.js";

/** An address that a Gateway requests. */
export interface GatewayAddress {
  /** For example `IPAddress` or `Hostname`. Absent: `IPAddress` for API servers, which set it. */
  readonly type?: string;
  /** Empty if the controller may choose. */
  readonly value: string;
}

/** Validation of the certificates of clients. */
export interface FrontendValidation {
  readonly caCertificateRefs: readonly FullReference[];
  /** Absent: `AllowValidOnly`. */
  readonly mode?: "AllowValidOnly" | "AllowInsecureFallback";
}

/** TLS settings of a Gateway. */
export interface GatewayTls {
  /** Validation of clients: of every port, and of single ports instead. */
  readonly frontend?: {
    readonly default: { readonly validation?: FrontendValidation };
    readonly perPort: readonly { readonly port: number; readonly validation?: FrontendValidation }[];
  };
  readonly backend?: { readonly clientCertificateRef?: ObjectReference };
}

/** Settings of the resources that are made for a Gateway. */
export interface GatewayInfrastructure {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly parametersRef?: LocalReference;
}

export interface KubernetesGatewaySpec {
  readonly gatewayClassName: string;
  readonly listeners: readonly KubernetesGatewayListener[];
  readonly addresses: readonly GatewayAddress[];
  readonly infrastructure?: GatewayInfrastructure;
  /** Namespaces whose ListenerSets may attach. Absent: none. */
  readonly allowedListeners?: { readonly namespaces?: NamespaceSelection };
  readonly tls?: GatewayTls;
}

/** A Gateway of the Gateway API. */
export type KubernetesGatewayObject = ConfigObject<KubernetesGatewaySpec>;

/** The Gateway API's Gateways of the config cluster, by `ns/name`. */
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
  annotations: (key) => key !== "kubectl.kubernetes.io/last-applied-configuration",
  conditions: ["Accepted", "Programmed", "ResolvedRefs"],
  fields: { spec: true },
  hasGeneration: true,
  key: meshKey,
  decode(manifest, report) {
    const spec = Fields.of(manifest.body, report).object("spec");
    warnOfIgnored(spec, "defaultScope", "no Gateway of istiod is a default Gateway; name the Gateways in parentRefs");
    warnOfOthers(spec, [...specFields, "defaultScope"]);
    return {
      spec: {
        gatewayClassName: requiredString(spec, "gatewayClassName", isAnyText, "the name of a GatewayClass"),
        listeners: decodeListeners(spec, true),
        addresses: spec.list("addresses").map(decodeAddress),
        ...decodeInfrastructure(spec.object("infrastructure")),
        ...decodeAllowedListeners(spec.object("allowedListeners")),
        ...decodeTls(spec.object("tls")),
      },
    };
  },
});

const specFields = ["gatewayClassName", "listeners", "addresses", "infrastructure", "allowedListeners", "tls"];

function decodeAddress(address: Fields): GatewayAddress {
  warnOfIgnored(address, "routability", "Istio does not implement it");
  warnOfOthers(address, ["type", "value", "routability"]);
  return { ...address.optionalString("type"), value: address.string("value") };
}

function decodeInfrastructure(fields: Fields): Pick<KubernetesGatewaySpec, "infrastructure"> {
  if (!fields.present) return {};
  const parametersRef = fields.object("parametersRef");
  return {
    infrastructure: {
      labels: fields.stringMap("labels"),
      annotations: fields.stringMap("annotations"),
      ...(parametersRef.present && { parametersRef: decodeLocalReference(parametersRef) }),
    },
  };
}

function decodeAllowedListeners(fields: Fields): Pick<KubernetesGatewaySpec, "allowedListeners"> {
  if (!fields.present) return {};
  const namespaces = fields.object("namespaces");
  return { allowedListeners: namespaces.present ? { namespaces: decodeNamespaceSelection(namespaces) } : {} };
}

function decodeTls(fields: Fields): Pick<KubernetesGatewaySpec, "tls"> {
  if (!fields.present) return {};
  const frontend = fields.object("frontend");
  const backend = fields.object("backend");
  const certificate = backend.object("clientCertificateRef");
  return {
    tls: {
      ...(frontend.present && {
        frontend: {
          default: decodeValidation(frontend.object("default")),
          perPort: frontend
            .list("perPort")
            .map((port) => ({ port: port.port("port"), ...decodeValidation(port.object("tls")) })),
        },
      }),
      ...(backend.present && {
        backend: certificate.present ? { clientCertificateRef: decodeReference(certificate) } : {},
      }),
    },
  };
}

function decodeValidation(tls: Fields): { readonly validation?: FrontendValidation } {
  const validation = tls.object("validation");
  if (!validation.present) return {};
  return {
    validation: {
      caCertificateRefs: validation.list("caCertificateRefs").map(decodeFullReference),
      ...optionalEnum(validation, "mode", ["AllowValidOnly", "AllowInsecureFallback"]),
    },
  };
}
