import { collection } from "@istiod/incremental";
import { meshKey, type ConfigObject } from "../../config-object.js";
import { Fields } from "../../decoding/fields.js";
import { discoveryNamespacesFilter } from "../../mesh/discovered-namespaces.js";
import { declareKind } from "../kind.js";

export interface IngressTls {
  /** Empty: every host. */
  readonly hosts: readonly string[];
  /** Empty where none is named. */
  readonly secretName: string;
}

export interface IngressPath {
  readonly path: string;
  /** Absent, or any other: as Istio's older matching, by a final `*`. */
  readonly pathType?: "Exact" | "Prefix";
  /** Absent where the backend is no Service. */
  readonly service?: IngressService;
}

/** A port of a Service of the Ingress's namespace: by its number, else by its name. */
export interface IngressService {
  readonly name: string;
  readonly port: number | string;
}

export interface IngressRule {
  /** Empty: every host. */
  readonly host: string;
  /** Undefined where the rule is not for HTTP. */
  readonly paths: readonly IngressPath[] | undefined;
}

export interface IngressSpec {
  /** Name of an IngressClass. */
  readonly ingressClassName?: string;
  readonly tls: readonly IngressTls[];
  readonly rules: readonly IngressRule[];
}

export type IngressObject = ConfigObject<IngressSpec>;

/** Kubernetes Ingresses, of the cluster that holds the configuration. Keyed `ns/name`. */
export const ingresses = collection<IngressObject>("Ingress", { filter: discoveryNamespacesFilter });

/** By which an Ingress named its class before it had a field for it. */
export const ingressClassAnnotation = "kubernetes.io/ingress.class";

export const ingressKind = declareKind<IngressSpec, undefined>({
  kind: "Ingress",
  group: "networking.k8s.io",
  versions: ["v1"],
  scope: "namespaced",
  collection: ingresses,
  labels: () => false,
  annotations: (key) => key === ingressClassAnnotation,
  key: meshKey,
  decode(manifest, report) {
    const spec = Fields.of(manifest.body, report).object("spec");
    return {
      spec: {
        ...spec.optionalString("ingressClassName"),
        tls: spec.list("tls").map((tls) => ({ hosts: tls.strings("hosts"), secretName: tls.string("secretName") })),
        rules: spec.list("rules").map((rule) => ({ host: rule.string("host"), paths: pathsOf(rule.object("http")) })),
      },
    };
  },
});

function pathsOf(http: Fields): readonly IngressPath[] | undefined {
  if (!http.present) return undefined;
  return http.list("paths").map((path) => {
    const pathType = path.string("pathType");
    const service = path.object("backend").object("service");
    return {
      path: path.string("path"),
      ...((pathType === "Exact" || pathType === "Prefix") && { pathType }),
      ...(service.present && { service: { name: service.string("name"), port: portOf(service.object("port")) } }),
    };
  });
}

function portOf(port: Fields): number | string {
  return port.optionalPort("number").number ?? port.string("name");
}
