import { collection } from "@istiod/incremental";
import { meshKey, type ConfigObject } from "../../config-object.js";
import { Fields } from "../../decoding/fields.js";
import { discoveryNamespacesFilter } from "../../mesh/discovered-namespaces.js";
import { checkedString, checkedStrings, expectedLabel } from "../../validation/kubernetes/fields.js";
import { isLowerCaseLabel, isPlainIpAddress, isSubdomain } from "../../validation/kubernetes/names.js";
import { literalStarFault } from "../istio/virtual-service/unmatchable.js";
import { declareKind } from "../kind.js";

export interface IngressTls {
  /** Empty: all hosts. */
  readonly hosts: readonly string[];
  /** Empty if not set. */
  readonly secretName: string;
}

export interface IngressPath {
  readonly path: string;
  /** Absent for every other value, which has Istio's legacy matching by a final `*`. */
  readonly pathType?: "Exact" | "Prefix";
  /** Absent if the backend is not a Service. */
  readonly service?: IngressService;
}

/** A port of a Service in the Ingress's namespace, by number or by name. */
export interface IngressService {
  readonly name: string;
  readonly port: number | string;
}

export interface IngressRule {
  /** Empty: all hosts. */
  readonly host: string;
  /** Undefined if the rule is not for HTTP. */
  readonly paths: readonly IngressPath[] | undefined;
}

export interface IngressSpec {
  /** Name of an IngressClass. */
  readonly ingressClassName?: string;
  readonly tls: readonly IngressTls[];
  readonly rules: readonly IngressRule[];
  /** Reports whether there is one. It has no effect. */
  readonly defaultBackend: boolean;
}

export type IngressObject = ConfigObject<IngressSpec>;

/** Ingresses of the config cluster, by `ns/name`. */
export const ingresses = collection<IngressObject>("Ingress", { filter: discoveryNamespacesFilter });

/** Annotation that named the class of an Ingress before the field `ingressClassName` existed. */
export const ingressClassAnnotation = "kubernetes.io/ingress.class";

/** Prefix of the annotations of ingress-nginx, which nothing here reads but analysis. */
export const nginxPrefix = "nginx.ingress.kubernetes.io/";

export const ingressKind = declareKind<IngressSpec, undefined>({
  kind: "Ingress",
  group: "networking.k8s.io",
  versions: ["v1"],
  scope: "namespaced",
  collection: ingresses,
  labels: () => false,
  annotations: (key) => key === ingressClassAnnotation || key.startsWith(nginxPrefix),
  fields: {
    spec: {
      ingressClassName: true,
      defaultBackend: { service: { name: true } },
      tls: { hosts: true, secretName: true },
      rules: {
        host: true,
        http: {
          paths: {
            path: true,
            pathType: true,
            backend: { service: { name: true, port: { number: true, name: true } }, serviceName: true },
          },
        },
      },
    },
  },
  key: meshKey,
  decode(manifest, report) {
    const spec = Fields.of(manifest.body, report).object("spec");
    return {
      spec: {
        ...spec.optionalString("ingressClassName"),
        tls: spec.list("tls").map((tls) => ({
          hosts: checkedStrings(tls, "hosts", isIngressHost, expectedHost),
          secretName: tls.string("secretName"),
        })),
        rules: spec.list("rules").map((rule) => ({
          host: checkedString(rule, "host", isIngressHost, expectedHost),
          paths: pathsOf(rule.object("http")),
        })),
        defaultBackend: spec.object("defaultBackend").present,
      },
    };
  },
});

function pathsOf(http: Fields): readonly IngressPath[] | undefined {
  if (!http.present) return undefined;
  return http.list("paths").map((path) => {
    const pathType = path.string("pathType");
    const backend = path.object("backend");
    const service = backend.object("service");
    if (backend.has("serviceName"))
      backend.fault(["serviceName"], backend.string("serviceName"), "service.name, as of networking.k8s.io/v1");
    return {
      path: checkedPath(path, pathType),
      ...((pathType === "Exact" || pathType === "Prefix") && { pathType }),
      ...(service.present && {
        service: {
          name: checkedString(service, "name", isLowerCaseLabel, expectedLabel),
          port: portOf(service.object("port")),
        },
      }),
    };
  });
}

/**
 * Returns the path, and reports one that Envoy rejects as a prefix: with `?` or `#`, of a single character other than
 * `/`, or with several slashes at its end.
 */
function checkedPath(fields: Fields, pathType: string): string {
  const path = fields.string("path");
  const prefix = pathType === "Prefix" ? path : pathType === "Exact" ? undefined : impliedPrefix(path);
  if (prefix !== undefined && prefix !== "/" && !/^[^?#]+[^?#/]$/s.test(prefix.replace(/\/$/, "")))
    fields.fault(["path"], path, "a path of segments without ? and #, and with at most one / at its end");
  const fault = patternFault(path, pathType);
  if (fault !== undefined) fields.warn(["path"], fault, "never-matches");
  return path;
}

/**
 * Signs of a pattern that no path has, which may have `$`, `*`, `+` and parentheses (RFC 3986, section 3.3): a `^` at
 * the beginning, a backslash, a class, an alternative in a group, and any text in a group. Each is searched in linear
 * time: a repetition ends before the character that begins the next attempt.
 */
const patternSign = /^\^|\\|\[\^|\[(?:\w-\w)+\]|\[[^[\]]*\][*+]|\([^()|]*\|[^()]*\)|\(\.[*+]|\.[*+]\)/;

/** Explains that a path is compared as it is, although it looks like a pattern; undefined if it does not. */
function patternFault(path: string, pathType: string): string | undefined {
  if (patternSign.test(path))
    return `is ${JSON.stringify(path)}, which is compared as it is, not as a pattern, expected a prefix; patterns need a VirtualService or an HTTPRoute`;
  return pathType === "Prefix" || pathType === "Exact" ? literalStarFault(path) : undefined;
}

const matchAllPaths = ["", "*", "/*", ".*"];

/** Returns the prefix that a path without a type means: one that ends in a wildcard, but does not match everything. */
function impliedPrefix(path: string): string | undefined {
  if (matchAllPaths.includes(path)) return undefined;
  return path.endsWith(".*") || path.endsWith("/*") ? path.slice(0, -2) : undefined;
}

/** Reports whether a string is a domain name, whose first label may be `*`. */
function isIngressHost(text: string): boolean {
  return text === "" || (isSubdomain(text.startsWith("*.") ? text.slice(2) : text) && !isPlainIpAddress(text));
}

const expectedHost = "a domain name in lower case, whose first label may be *";

function portOf(port: Fields): number | string {
  return port.optionalPort("number").number ?? port.string("name");
}
