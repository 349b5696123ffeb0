import { gatewayKind, type GatewayObject, gateways } from "@istiod/config-schema";
import { index } from "@istiod/incremental";
import type { ServerTLSSettings } from "@istiod/istio-api/networking/v1alpha3/gateway";
import { features } from "@istiod/push-context";
import { hasLabels } from "@istiod/service-discovery";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { listNames } from "../../suggestions.js";

export const duplicateCertificateAnalyzer: Analyzer = {
  name: "gateway.CertificateAnalyzer",
  description: "Checks that Gateways for the same pods do not share a certificate",
  codes: ["IST0138"],
  rules: [rule(gatewayKind, gateways, checkCertificates)],
};

/** Gateways, indexed by each certificate that their servers use. */
const byCertificate = index(gateways, "byCertificate", ({ spec }) =>
  spec.servers.flatMap(({ tls }) => certificateOf(tls)?.id ?? []),
);

interface Certificate {
  readonly id: string;
  readonly field: "credentialName" | "serverCertificate";
}

/** Returns the certificate of a server: its Secret, else its files. */
function certificateOf(tls: ServerTLSSettings | undefined): Certificate | undefined {
  if (tls === undefined) return undefined;
  const { credentialName, serverCertificate, privateKey } = tls;
  if (credentialName !== "") return { id: JSON.stringify([credentialName]), field: "credentialName" };
  if (serverCertificate === "" || privateKey === "") return undefined;
  return { id: JSON.stringify([serverCertificate, privateKey]), field: "serverCertificate" };
}

/**
 * Reports certificates that other Gateways for the same pods also use. Browsers reuse a connection for all hosts of its
 * certificate, so that requests for a host of another Gateway match no route.
 */
function checkCertificates({ namespace, name, spec }: GatewayObject, { q, report }: AnalysisContext): void {
  const scoped = features.scopeGatewayToNamespace(q);
  for (const [i, { tls }] of spec.servers.entries()) {
    const certificate = certificateOf(tls);
    if (certificate === undefined) continue;
    const others = q.read(byCertificate, certificate.id).filter((other) => {
      if (other.namespace === namespace && other.name === name) return false;
      return (!scoped || other.namespace === namespace) && hasLabels(other.spec.selector, spec.selector);
    });
    if (others.length === 0) continue;
    const names = listNames(others.map((other) => `${other.namespace}/${other.name}`));
    const message = `duplicate certificate: Gateway ${names} uses it too, and clients that reuse a connection (HTTP/2) for hosts of both get 404; put the hosts into one Gateway or give each a certificate`;
    report("IST0138", ["spec", "servers", i, "tls", certificate.field], message);
  }
}
