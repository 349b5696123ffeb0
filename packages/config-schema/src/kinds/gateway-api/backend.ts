import { collection } from "@istiod/incremental";
import { meshKey, type ConfigObject } from "../../config-object.js";
import { Fields } from "../../decoding/fields.js";
import { discoveryNamespacesFilter } from "../../mesh/discovered-namespaces.js";
import { isSubdomain } from "../../validation/kubernetes/names.js";
import { isIstioKey } from "../istio/istio-keys.js";
import { warnOfIgnored, warnOfOthers } from "./field-rules.js";
import { declareKind } from "../kind.js";
import { type BackendTlsValidation, decodeBackendTlsValidation } from "./backend-tls-validation.js";
import { requiredEnum, requiredString } from "./checked-fields.js";

/** TLS settings of connections to a backend. */
export interface BackendTls {
  /** `None`, `ServerOnly` or `ClientAndServer`. */
  readonly mode: string;
  readonly validation?: BackendTlsValidation;
}

export interface BackendSpec {
  readonly type: "ExternalHostname" | "EndpointSelector";
  /** Number of the port. */
  readonly port: number;
  /** For example `HTTP`, `H2C` or `TCP`. */
  readonly protocol?: string;
  /** Hostname of a backend outside the mesh, if `type` is `ExternalHostname`. */
  readonly externalHostname?: string;
  readonly tls?: BackendTls;
}

export type BackendObject = ConfigObject<BackendSpec>;

/** XBackends of the config cluster, by `ns/name`. */
export const backends = collection<BackendObject>("XBackend", { filter: discoveryNamespacesFilter });

export const backendKind = declareKind<BackendSpec, undefined>({
  kind: "XBackend",
  group: "gateway.networking.x-k8s.io",
  versions: ["v1alpha1"],
  scope: "namespaced",
  nameRule: "mixedCaseSubdomain",
  collection: backends,
  labels: isIstioKey,
  annotations: isIstioKey,
  fields: { spec: true },
  hasGeneration: true,
  key: meshKey,
  decode(manifest, report) {
    const spec = Fields.of(manifest.body, report).object("spec");
    const external = spec.object("externalHostname");
    warnOfIgnored(spec, "sessionPersistence", "Istio does not implement it");
    warnOfIgnored(spec, "endpointSelector", "Istio serves XBackends of the type ExternalHostname only");
    warnOfOthers(spec, [...specFields, "sessionPersistence", "endpointSelector"]);
    const tls = spec.object("tls");
    return {
      spec: {
        type: requiredEnum(spec, "type", ["ExternalHostname", "EndpointSelector"]),
        port: decodePort(spec.object("port")),
        ...spec.optionalString("protocol"),
        ...(external.present && {
          externalHostname: requiredString(external, "hostname", isSubdomain, "a domain name in lower case"),
        }),
        ...(tls.present && { tls: decodeTls(tls) }),
      },
    };
  },
});

const specFields = ["type", "port", "protocol", "externalHostname", "tls"];

/** Returns the number of a port, which releases before v1.7.0 of the Gateway API have in the field `port`. */
function decodePort(fields: Fields): number {
  if (!fields.has("number") && fields.has("port")) {
    fields.fault(["port"], fields.integer("port"), "number, as this field is called since v1.7.0 of the Gateway API");
    return 0;
  }
  warnOfOthers(fields, ["number"]);
  return fields.port("number");
}

function decodeTls(fields: Fields): BackendTls {
  const validation = fields.object("validation");
  warnOfIgnored(fields, "clientCertificateRef", "Istio presents no certificates to XBackends");
  warnOfOthers(fields, ["mode", "validation", "clientCertificateRef"]);
  return {
    mode: fields.string("mode"),
    ...(validation.present && { validation: decodeBackendTlsValidation(validation) }),
  };
}
