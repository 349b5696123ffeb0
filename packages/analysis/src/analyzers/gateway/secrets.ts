import { type FieldPath, gatewayKind, type GatewayObject, gateways } from "@istiod/config-schema";
import {
  type ServerTLSSettings,
  ServerTLSSettings_TLSmode as Mode,
} from "@istiod/istio-api/networking/v1alpha3/gateway";
import { rootCertificatesSuffix, serverRootsCredentialName } from "@istiod/push-context";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { hostsWithoutCertificate } from "../../queries/certificate-hosts.js";
import {
  certificateSecret,
  credentialProblem,
  type CredentialReader,
  type NeededCredential,
} from "../../queries/credentials.js";
import { podsOfGateway } from "./selection.js";

export const gatewaySecretAnalyzer: Analyzer = {
  name: "gateway.SecretAnalyzer",
  description: "Checks that the credentials of Gateways are Secrets with valid certificates",
  codes: ["IST0101", "IST0161", "MESH0061", "MESH0075"],
  rules: [rule(gatewayKind, gateways, checkSecrets)],
};

interface ServerCredential extends NeededCredential {
  /** The field that names it, from the TLS settings. */
  readonly field: FieldPath;
  /** The name in the field. */
  readonly declared: string;
}

function checkSecrets(gateway: GatewayObject, context: AnalysisContext): void {
  const { q, report } = context;
  const pods = podsOfGateway(gateway, context);
  for (const [i, { tls, hosts }] of gateway.spec.servers.entries()) {
    const credentials = tls === undefined ? [] : credentialsOf(tls);
    checkHosts(i, hosts, credentials, pods, context);
    for (const credential of credentials) {
      const { field, declared, roots } = credential;
      const problem = credentialProblem(q, credential, {
        places: pods,
        called: "the gateway's pods",
        use: "server",
      });
      if (problem === undefined) continue;
      const path = ["spec", "servers", i, "tls", ...field];
      const name = JSON.stringify(declared);
      if (problem.kind === "missing") {
        report("IST0101", path, `referenced ${String(field[0])} ${name} not found: ${problem.reason}`);
        continue;
      }
      const { object, fault } = problem;
      const consequence = roots ? rootsConsequence(fault.served) : certificateConsequence(fault.served);
      report(fault.code, path, `credential ${name} is invalid, so ${consequence}: ${object}: ${fault.text}`);
    }
  }
}

/** Reports hosts that none of the certificates of a server names. */
function checkHosts(
  server: number,
  hosts: readonly string[],
  credentials: readonly ServerCredential[],
  places: readonly CredentialReader[],
  { q, report }: AnalysisContext,
): void {
  const keys = credentials.filter(({ roots }) => !roots);
  const found = keys.map(({ name }) => certificateSecret(q, name, places));
  const existing = found.filter((key) => key !== undefined);
  const [first] = keys;
  if (first === undefined || existing.length < keys.length) return;
  const fault = hostsWithoutCertificate(q, { hosts, secrets: existing });
  if (fault !== undefined) report("MESH0075", ["spec", "servers", server, "tls", ...first.field], fault);
}

/** Returns the consequence of a faulty certificate of a server, which is served or not. */
export function certificateConsequence(served: boolean): string {
  return served
    ? "clients reject the server, which serves the certificate all the same"
    : "the server gets no certificate, and accepts no connection";
}

function rootsConsequence(served: boolean): string {
  return served
    ? "certificates of clients that it issued are rejected"
    : "the server gets no root certificates to verify those of clients, and accepts no connection";
}

/** Returns the credentials that the proxies of a server ask for: keys, and roots where clients have certificates. */
function credentialsOf(tls: ServerTLSSettings): readonly ServerCredential[] {
  const { credentialName, credentialNames, caCertCredentialName, mode } = tls;
  if (mode === Mode.PASSTHROUGH || mode === Mode.AUTO_PASSTHROUGH || mode === Mode.ISTIO_MUTUAL) return [];
  const keys: ServerCredential[] =
    credentialNames.length > 0
      ? credentialNames.map((name, i) => ({ name, declared: name, roots: false, field: ["credentialNames", i] }))
      : credentialName === ""
        ? []
        : [{ name: credentialName, declared: credentialName, roots: false, field: ["credentialName"] }];
  const [first] = keys;
  if (first === undefined || (mode !== Mode.MUTUAL && mode !== Mode.OPTIONAL_MUTUAL)) return keys;
  const roots: ServerCredential =
    caCertCredentialName === ""
      ? { ...first, name: first.name + rootCertificatesSuffix, roots: true }
      : {
          name: serverRootsCredentialName(caCertCredentialName),
          declared: caCertCredentialName,
          roots: true,
          field: ["caCertCredentialName"],
        };
  return [...keys, roots];
}
