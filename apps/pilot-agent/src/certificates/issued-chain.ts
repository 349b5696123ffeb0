import { createPrivateKey, X509Certificate } from "node:crypto";
import { reasonOf } from "@istiod/runtime";
import { AgentError } from "../errors.js";
import type { IssuedCertificate } from "./workload-certificate.js";

/** Certificates between a leaf and its root, and roots. A bundle of all public authorities has fewer than 200. */
export const MAX_CHAIN = 32;
export const MAX_ROOTS = 512;
/** Lengths in an error. */
const MAX_QUOTED = 256;

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

export interface ExpectedLeaf {
  /** PEM. */
  readonly key: string;
  /** The requested SPIFFE ID. */
  readonly identity: string;
}

/**
 * Checks what a certificate authority has issued: the leaf first, then intermediates, the roots last. The leaf must be
 * for the key and, apart from the trust domain, for the requested identity. An authority signs for the trust domain of
 * the credentials, which may have another name in the agent's settings. Signatures must lead from the leaf to a root.
 *
 * @throws AgentError `authority`
 */
export function readIssuedChain(certChain: readonly string[], { key, identity }: ExpectedLeaf): IssuedCertificate {
  const roots = certChain.at(-1);
  if (certChain.length < 2 || roots === undefined)
    throw new AgentError("authority", "certificate authority: the response has no certificate chain");
  const chain = certChain
    .slice(0, -1)
    .map((pem) => (pem.endsWith("\n") ? pem : `${pem}\n`))
    .join("");
  try {
    const [leaf, ...intermediates] = parse(chain, MAX_CHAIN, "the chain");
    if (!leaf) throw new Error("the chain has no certificate");
    if (!leaf.checkPrivateKey(createPrivateKey(key))) throw new Error("it does not match the private key");
    const notAfter = Date.parse(leaf.validTo);
    if (Number.isNaN(notAfter)) throw new Error(`its expiry ${quoted(leaf.validTo)} is not a time`);
    checkIdentity(leaf, identity);
    if (!leadsToRoot(leaf, intermediates, parse(roots, MAX_ROOTS, "the list of roots")))
      throw new Error("its chain does not lead to a root certificate of the response");
    return { key, chain, roots, notAfter };
  } catch (error) {
    throw new AgentError("authority", `certificate authority: invalid certificate: ${reasonOf(error)}`, {
      cause: error,
    });
  }
}

function parse(pem: string, max: number, name: string): X509Certificate[] {
  const blocks = pem.match(CERTIFICATE) ?? [];
  if (blocks.length > max) throw new Error(`${name} has ${blocks.length} certificates, at most ${max} are accepted`);
  return blocks.map((block) => new X509Certificate(block));
}

/** Compares namespace and service account with the requested ones. One that the agent's settings lack may be any. */
function checkIdentity({ subjectAltName = "" }: X509Certificate, identity: string): void {
  const uris = subjectAltName.split(", ").flatMap((name) => (name.startsWith("URI:") ? [name.slice(4)] : []));
  const [issued, requested] = [uris.length === 1 ? accountOf(uris[0] ?? "") : undefined, accountOf(identity)];
  const isRequested = (part: "namespace" | "serviceAccount"): boolean =>
    !requested?.[part] || issued?.[part] === requested[part];
  if (issued && isRequested("namespace") && isRequested("serviceAccount")) return;
  throw new Error(`it is for ${quoted(uris.join(", ")) || "no identity"}, expected ${identity}`);
}

function accountOf(id: string): { readonly namespace: string; readonly serviceAccount: string } | undefined {
  const [, namespace, serviceAccount] = /^spiffe:\/\/[^/]+\/ns\/([^/]*)\/sa\/([^/]*)$/.exec(id) ?? [];
  return namespace === undefined || serviceAccount === undefined ? undefined : { namespace, serviceAccount };
}

/** Reports whether signatures lead from a certificate to a root. Each certificate is looked at once. */
function leadsToRoot(
  leaf: X509Certificate,
  intermediates: readonly X509Certificate[],
  roots: readonly X509Certificate[],
): boolean {
  const unvisited = new Set(intermediates);
  const path = [leaf];
  for (let issued = path.pop(); issued !== undefined; issued = path.pop()) {
    const subject = issued;
    if (roots.some((root) => isIssuer(root, subject))) return true;
    for (const issuer of unvisited) {
      if (!issuer.ca || !isIssuer(issuer, subject)) continue;
      unvisited.delete(issuer);
      path.push(issuer);
    }
  }
  return false;
}

function isIssuer(issuer: X509Certificate, subject: X509Certificate): boolean {
  return subject.checkIssued(issuer) && subject.verify(issuer.publicKey);
}

function quoted(text: string): string {
  return text === "" ? "" : JSON.stringify(text.slice(0, MAX_QUOTED));
}
