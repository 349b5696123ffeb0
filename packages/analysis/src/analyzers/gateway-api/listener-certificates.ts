import {
  backendKind,
  backends,
  type BackendTlsValidation,
  backendTlsPolicies,
  backendTlsPolicyKind,
  configCluster,
  type FieldPath,
  type FrontendValidation,
  kubernetesGatewayKind,
  type KubernetesGatewayListener,
  type KubernetesGatewayObject,
  kubernetesGateways,
  listenerSetKind,
  listenerSets,
  type ObjectReference,
} from "@istiod/config-schema";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { hostsWithoutCertificate } from "../../queries/certificate-hosts.js";
import { certificateFault, rootsFault } from "../../queries/certificates.js";

/** Checks what the statuses of the Gateway API do not show: whether certificates are valid now, and for their hosts. */
export const listenerCertificateAnalyzer: Analyzer = {
  name: "k8sgateway.CertificateAnalyzer",
  description: "Checks that certificates of the Gateway API have not expired, and are for the hosts of their listeners",
  codes: ["IST0161", "MESH0075"],
  rules: [
    rule(kubernetesGatewayKind, kubernetesGateways, (gateway, context) => {
      checkListeners(gateway.namespace, gateway.spec.listeners, context);
      checkGatewayTls(gateway, context);
    }),
    rule(listenerSetKind, listenerSets, ({ namespace, spec }, context) =>
      checkListeners(namespace, spec.listeners, context),
    ),
    rule(backendTlsPolicyKind, backendTlsPolicies, ({ namespace, spec }, context) =>
      checkBackend(namespace, spec.validation, ["spec", "validation"], context),
    ),
    rule(backendKind, backends, ({ namespace, spec }, context) =>
      checkBackend(namespace, spec.tls?.validation, ["spec", "tls", "validation"], context),
    ),
  ],
};

function checkListeners(own: string, listeners: readonly KubernetesGatewayListener[], context: AnalysisContext): void {
  for (const [i, { name: listener, hostname, tls }] of listeners.entries()) {
    if (tls === undefined || tls.mode === "Passthrough") continue;
    const path = ["spec", "listeners", i, "tls", "certificateRefs"];
    const secrets = tls.certificateRefs.map((ref) => secretOf(own, ref, context));
    for (const [j, key] of secrets.entries())
      if (key !== undefined)
        checkCertificate(key, [...path, j], `listener ${listener}: clients reject its certificate`, "server", context);
    const known = secrets.filter((key) => key !== undefined);
    if (hostname === undefined || known.length < secrets.length) continue;
    const fault = hostsWithoutCertificate(context.q, { hosts: [hostname], secrets: known });
    if (fault !== undefined) context.report("MESH0075", [...path, 0], `listener ${listener}: ${fault}`);
  }
}

/** Returns the key of the Secret that a reference names; undefined if it names another kind. */
function secretOf(
  own: string,
  { group = "", kind = "Secret", namespace = own, name }: ObjectReference,
  { q }: AnalysisContext,
): string | undefined {
  return group === "" && kind === "Secret" ? `${configCluster(q)}/${namespace}/${name}` : undefined;
}

/** Reports a certificate that is not valid now. The status has its other faults: proxies do not get it then. */
function checkCertificate(
  key: string,
  path: FieldPath,
  consequence: string,
  use: "client" | "server",
  { q, report }: AnalysisContext,
): void {
  const fault = certificateFault(q, { key, use });
  if (fault?.served !== true) return;
  const secret = key.slice(key.indexOf("/") + 1);
  report(fault.code, path, `${consequence}, which is served all the same: Secret ${secret}: ${fault.text}`);
}

function checkGatewayTls({ namespace, spec: { tls } }: KubernetesGatewayObject, context: AnalysisContext): void {
  const client = tls?.backend?.clientCertificateRef;
  const key = client && secretOf(namespace, client, context);
  const path = ["spec", "tls"];
  if (key !== undefined)
    checkCertificate(
      key,
      [...path, "backend", "clientCertificateRef"],
      "backends reject the certificate of the gateway",
      "client",
      context,
    );
  const frontend = [...path, "frontend"];
  checkFrontend(namespace, tls?.frontend?.default.validation, [...frontend, "default"], context);
  for (const [i, { validation }] of (tls?.frontend?.perPort ?? []).entries())
    checkFrontend(namespace, validation, [...frontend, "perPort", i, "tls"], context);
}

function checkFrontend(
  own: string,
  validation: FrontendValidation | undefined,
  path: FieldPath,
  context: AnalysisContext,
): void {
  for (const [i, { namespace = own, ...ref }] of (validation?.caCertificateRefs ?? []).entries())
    checkRoots(
      { ...ref, namespace },
      [...path, "validation", "caCertificateRefs", i],
      "certificates of clients that it issued are rejected",
      context,
    );
}

function checkBackend(
  namespace: string,
  validation: BackendTlsValidation | undefined,
  path: FieldPath,
  context: AnalysisContext,
): void {
  const [ref] = validation?.caCertificateRefs ?? [];
  if (ref === undefined) return;
  const consequence = "backends whose certificates it issued are rejected";
  checkRoots({ ...ref, namespace }, [...path, "caCertificateRefs", 0], consequence, context);
}

interface RootsReference {
  readonly group: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** Reports root certificates and revocation lists that are not valid now. The status has their other faults. */
function checkRoots(
  { group, kind, namespace, name }: RootsReference,
  path: FieldPath,
  consequence: string,
  { q, report }: AnalysisContext,
): void {
  if (group !== "" || (kind !== "ConfigMap" && kind !== "Secret")) return;
  const fault = rootsFault(q, { kind, key: `${configCluster(q)}/${namespace}/${name}` });
  if (fault?.served !== true) return;
  report(fault.code, path, `${consequence}: ${kind} ${namespace}/${name}: ${fault.text}`);
}
