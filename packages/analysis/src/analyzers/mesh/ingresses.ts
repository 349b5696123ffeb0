import {
  ingressClassAnnotation,
  ingressClasses,
  ingresses,
  ingressKind,
  type IngressObject,
  isIstioClass,
  nginxPrefix,
} from "@istiod/config-schema";
import { MeshConfig_IngressControllerMode as Mode } from "@istiod/istio-api/mesh/v1alpha1/config";
import { features, isServedIngress, lostTlsHosts, mesh, shadowedIngressPaths } from "@istiod/push-context";
import { explainMissingHost, isServiceOf } from "../../queries/destination-hosts.js";
import { portsOfHost } from "../../queries/route-places.js";
import { nearestNames } from "@istiod/settings";
import { listNames, quotedNearest } from "../../suggestions.js";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";

export const ingressAnalyzer: Analyzer = {
  name: "mesh.IngressAnalyzer",
  description: "Checks that Ingresses, their certificates and default backends are served",
  codes: ["IST0101", "MESH0003", "MESH0013", "MESH0041", "MESH0042", "MESH0060"],
  rules: [
    rule(ingressKind, ingresses, checkClass),
    rule(ingressKind, ingresses, checkCertificates),
    rule(ingressKind, ingresses, checkDefaultBackend),
    rule(ingressKind, ingresses, checkPaths),
    rule(ingressKind, ingresses, checkBackends),
    rule(ingressKind, ingresses, checkAnnotations),
  ],
};

/** Checks an Ingress that names the mesh's class: another controller may serve it only if the class exists. */
function checkClass(ingress: IngressObject, context: AnalysisContext): void {
  checkSpelling(ingress, context);
  const { annotations, spec } = ingress;
  const { q, report } = context;
  const { ingressClassName } = spec;
  if (ingressClassName === undefined || ingressClassAnnotation in annotations) return;
  const { ingressClass, ingressControllerMode } = mesh(q);
  // In the mode DEFAULT, an Ingress without a known class is served.
  if (ingressControllerMode !== Mode.STRICT || ingressClassName !== ingressClass) return;
  if (q.read(ingressClasses, ingressClassName) !== undefined) return;
  report(
    "MESH0042",
    ["spec", "ingressClassName"],
    `the Ingress is not served: there is no IngressClass ${ingressClassName}; create it with controller istio.io/ingress-controller, or set the annotation ${ingressClassAnnotation}: ${ingressClassName} instead`,
  );
}

/** Reports a class that no IngressClass has and whose name is a misspelling of one that is served. */
function checkSpelling({ namespace, name, annotations, spec }: IngressObject, { q, report }: AnalysisContext): void {
  const { ingressClass, ingressControllerMode } = mesh(q);
  const annotated = annotations[ingressClassAnnotation];
  const named = annotated ?? spec.ingressClassName;
  if (named === undefined || named === ingressClass || ingressControllerMode === Mode.OFF) return;
  if (q.read(ingressClasses, named) !== undefined || q.call(isServedIngress, `${namespace}/${name}`)) return;
  const served = q.keys(ingressClasses).filter((key) => isIstioClass(q.read(ingressClasses, key)?.spec.controller));
  const candidates = annotated === undefined ? [ingressClass, ...served] : [ingressClass];
  if (candidates.some((candidate) => isVariant(named, candidate))) return;
  const near = nearestNames(named, candidates);
  if (near.length === 0) return;
  report(
    "MESH0042",
    annotated === undefined ? ["spec", "ingressClassName"] : ["metadata", "annotations", ingressClassAnnotation],
    `the Ingress is not served by this istiod: its class is ${JSON.stringify(named)}${quotedNearest(near)}`,
  );
}

/** Reports whether two classes are likely those of two control planes: `istio` and `istio-1`, `istio2` or `istio-b`. */
function isVariant(a: string, b: string): boolean {
  const [wordsOfA, wordsOfB] = [wordsOf(a), wordsOf(b)];
  const without = (name: string): string => name.replace(/[-_.\d]/g, "");
  return without(a) === without(b) || wordsOfA.includes(b) || wordsOfB.includes(a);
}

function wordsOf(name: string): readonly string[] {
  return name.split(/[-_.]/);
}

/** Reports default backends, to which gateways do not route. Istio ignores them too, and logs that. */
function checkDefaultBackend({ namespace, name, spec }: IngressObject, { q, report }: AnalysisContext): void {
  if (!spec.defaultBackend || !q.call(isServedIngress, `${namespace}/${name}`)) return;
  report(
    "MESH0003",
    ["spec", "defaultBackend"],
    "defaultBackend has no effect: gateways do not route to it, and answer other requests with status 404; add a rule without a host, whose path is /",
  );
}

/** Reports annotations of ingress-nginx, which have no effect here. */
function checkAnnotations({ namespace, name, annotations }: IngressObject, { q, report }: AnalysisContext): void {
  const foreign = Object.keys(annotations).filter((key) => key.startsWith(nginxPrefix));
  if (foreign.length === 0 || !q.call(isServedIngress, `${namespace}/${name}`)) return;
  for (const key of foreign)
    report(
      "MESH0042",
      ["metadata", "annotations", key],
      `annotation ${key} has no effect: gateways of Istio serve the Ingress; write a VirtualService or an HTTPRoute for what Ingresses do not have`,
    );
}

/** Reports backends whose Service does not exist, or lacks the port: their paths are not served. */
function checkBackends({ namespace, name, spec }: IngressObject, { q, report }: AnalysisContext): void {
  if (!q.call(isServedIngress, `${namespace}/${name}`)) return;
  for (const [i, { paths = [] }] of spec.rules.entries())
    for (const [j, { service }] of paths.entries()) {
      if (service === undefined || service.name === "") continue;
      const path = ["spec", "rules", i, "http", "paths", j, "backend", "service"];
      const host = `${service.name}.${namespace}.svc.${features.domainSuffix(q)}`;
      const ports = portsOfHost(q, host);
      const found = ports?.some(
        ({ name: own, number }) => service.port === (typeof service.port === "number" ? number : own),
      );
      if (ports === undefined)
        report(
          "IST0101",
          [...path, "name"],
          isServiceOf(q, host, namespace)
            ? `requests to the path fail: ${explainMissingHost(q, { host, namespace, exportTo: [] })}`
            : `referenced Service ${namespace}/${service.name} not found: requests to the path fail`,
        );
      else if (found !== true)
        report(
          "MESH0041",
          [...path, "port"],
          `Service ${namespace}/${service.name} has no port ${service.port}, so that requests to the path fail: it has ${listNames(ports.map(({ name: own, number }) => `${own} ${number}`.trim()))}`,
          "Error",
        );
    }
}

/** Reports paths whose requests an older Ingress gets. */
function checkPaths({ namespace, name, spec }: IngressObject, { q, report }: AnalysisContext): void {
  for (const { rule: at, path, host, owner } of q.call(shadowedIngressPaths, `${namespace}/${name}`)) {
    const own = JSON.stringify(spec.rules[at]?.paths?.[path]?.path ?? "");
    report(
      "MESH0013",
      ["spec", "rules", at, "http", "paths", path],
      `path ${own} of ${host === "*" ? "all hosts" : host} gets no request: Ingress ${owner}, which is older, has it too`,
    );
  }
}

function checkCertificates({ namespace, name, spec }: IngressObject, { q, report }: AnalysisContext): void {
  for (const { index, hosts, kept, owner, secretName } of q.call(lostTlsHosts, `${namespace}/${name}`)) {
    const own = JSON.stringify(spec.tls[index]?.secretName ?? "");
    const by = owner === `${namespace}/${name}` ? "another entry of the Ingress" : `Ingress ${owner}, which is older,`;
    const serves = `${by} serves ${hosts.includes("*") ? "all hosts" : "them"} with ${JSON.stringify(secretName)}`;
    const path = ["spec", "tls", index, "secretName"];
    if (!hosts.includes("*"))
      report("MESH0060", path, `certificate ${own} is not served for ${hosts.join(", ")}: ${serves}`);
    else if (kept.length === 0)
      report("MESH0060", path, `certificate ${own} is not served: its entry names no hosts, and ${serves}`);
    else
      report(
        "MESH0060",
        path,
        `certificate ${own} is served for ${kept.join(", ")} only, the hosts of the rules: its entry names none, and ${serves} in addition`,
        "Info",
      );
  }
}
