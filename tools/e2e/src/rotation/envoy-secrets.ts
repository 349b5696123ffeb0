import { X509Certificate } from "node:crypto";
import type { Mesh } from "../mesh/mesh.js";

/** The certificates that an Envoy uses for mutual TLS. */
export interface EnvoySecrets {
  readonly leaf: X509Certificate;
  /** The URI in its certificate. */
  readonly identity: string;
  /** Root certificates, PEM. */
  readonly roots: string;
  /** Revocation lists, PEM. Empty if there are none. */
  readonly revocationLists: string;
}

interface DumpedSecret {
  readonly name: string;
  readonly secret: {
    readonly tls_certificate?: { readonly certificate_chain?: DataSource };
    readonly validation_context?: { readonly trusted_ca?: DataSource; readonly crl?: DataSource };
  };
}

interface DataSource {
  readonly inline_bytes?: string;
  readonly inline_string?: string;
}

/** Reads the secrets of a workload's Envoy from its admin interface. @throws Error if it has not received them yet */
export async function envoySecrets(mesh: Mesh, workload: string): Promise<EnvoySecrets> {
  const { text } = await mesh.enter(workload, "http://envoy:15000/config_dump?resource=dynamic_active_secrets");
  const { configs = [] } = JSON.parse(text) as { readonly configs?: readonly DumpedSecret[] };
  const secret = (name: string): DumpedSecret["secret"] => {
    const found = configs.find((one) => one.name === name)?.secret;
    if (found === undefined) throw new Error(`the Envoy of ${workload} has no secret ${name}`);
    return found;
  };
  const leaf = new X509Certificate(textOf(secret("default").tls_certificate?.certificate_chain));
  const validation = secret("ROOTCA").validation_context;
  return {
    leaf,
    identity: /URI:([^,]+)/.exec(leaf.subjectAltName ?? "")?.[1] ?? "",
    roots: textOf(validation?.trusted_ca),
    revocationLists: textOf(validation?.crl),
  };
}

function textOf(source: DataSource | undefined): string {
  return source?.inline_string ?? Buffer.from(source?.inline_bytes ?? "", "base64").toString();
}

/** Reports whether two PEM texts have the same blocks, in any order. */
export function haveSameBlocks(a: string, b: string): boolean {
  const blocks = (pem: string): string =>
    [...pem.matchAll(/-----BEGIN [A-Z0-9 ]+-----[^-]+-----END/g)]
      .map(([text]) => text.replaceAll(/\s/g, ""))
      .toSorted()
      .join();
  return blocks(a) === blocks(b);
}
