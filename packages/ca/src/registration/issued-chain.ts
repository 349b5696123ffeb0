import { createPublicKey, type X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { reasonOf } from "@istiod/runtime";
import { pemOf } from "../authority/signing-bundle.js";
import { CaError } from "../errors.js";
import {
  allowsClientAuthentication,
  allowsServerAuthentication,
  verifyCertificatePath,
} from "../identity/certificate-path.js";
import { parseCertificate } from "../identity/parsed-certificate.js";
import { parseCertificates } from "../pem.js";
import { KeyUsageFlags } from "../x509.js";

/** A chain that a signer returned. */
export interface IssuedChain {
  readonly leaf: X509Certificate;
  /** The certificates after the leaf, in order. */
  readonly others: readonly X509Certificate[];
}

/** The request that a chain must answer. */
export interface ExpectedCertificate {
  /** Subject public key info of the request, DER. */
  readonly publicKeyDer: Buffer;
  /** Subject alternative names: one SPIFFE URI, or DNS names and IP addresses. */
  readonly names: readonly string[];
  /** True: for clients and servers. False: for servers. */
  readonly forClients: boolean;
  /** Longest remaining lifetime in milliseconds. */
  readonly maxLifetime: number;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

const maxChainLength = 256 * 1024;
const maxCertificates = 10;
/** A signer whose clock is ahead issues certificates that end later. */
const clockSkewMs = 10 * 60 * 1000;

/**
 * Parses the chain that a signer returned. @throws CaError `signing`
 */
export function readIssuedChain(pem: string, signer: string): IssuedChain {
  if (pem.length > maxChainLength)
    throw new CaError(
      "signing",
      `${signer}: returned ${pem.length} characters, at most ${maxChainLength} are accepted`,
    );
  const [leaf, ...others] = failingAs("signing", signer, () => parseCertificates(pem, "the certificate returned"));
  if (leaf === undefined) throw new CaError("signing", `${signer}: returned no certificate`);
  if (others.length >= maxCertificates)
    throw new CaError(
      "signing",
      `${signer}: returned ${others.length + 1} certificates, at most ${maxCertificates} are accepted`,
    );
  return { leaf, others };
}

/**
 * Checks that a signer issued what was requested: the key, exactly the names, the usages, and a lifetime within the
 * limit.
 *
 * @throws CaError `signing`
 */
export function checkIssued({ leaf }: IssuedChain, expected: ExpectedCertificate, signer: string): void {
  const reject = (reason: string): never => {
    throw new CaError("signing", `${signer}: the certificate returned ${reason}`);
  };
  const parsed = failingAs("signing", signer, () => parseCertificate(leaf));
  const key = leaf.publicKey.export({ type: "spki", format: "der" });
  const requested = createPublicKey({ key: expected.publicKeyDer, type: "spki", format: "der" });
  if (!key.equals(requested.export({ type: "spki", format: "der" }))) reject("has another key than the request");
  const names = namesOf(leaf);
  if (names !== sorted(expected.names)) reject(`is for ${names || "nobody"}, requested was ${sorted(expected.names)}`);
  if (parsed.isCa) reject("is a CA certificate");
  const { digitalSignature, keyCertSign, cRLSign } = KeyUsageFlags;
  const usages = parsed.keyUsages ?? digitalSignature;
  if ((usages & digitalSignature) === 0) reject("is not for digital signatures");
  if ((usages & (keyCertSign | cRLSign)) !== 0) reject("may sign certificates or revocation lists");
  if (!allowsServerAuthentication(parsed)) reject("is not for server authentication");
  if (expected.forClients && !allowsClientAuthentication(parsed)) reject("is not for client authentication");
  const { notAfter } = parsed;
  if (notAfter > expected.now + expected.maxLifetime + clockSkewMs)
    reject(
      `is valid until ${new Date(notAfter).toISOString()}, longer than the ${expected.maxLifetime / 1000} s allowed (MAX_WORKLOAD_CERT_TTL)`,
    );
}

/**
 * Checks that a chain is valid now and leads to one of the roots.
 *
 * @param uriHost trust domain of the leaf; undefined for a leaf without a URI
 * @throws CaError with `code`
 */
export function checkPath(
  { leaf, others }: IssuedChain,
  roots: readonly X509Certificate[],
  { uriHost, now }: { readonly uriHost: string | undefined; readonly now: number },
  { code, signer }: { readonly code: "signing" | "signer-root"; readonly signer: string },
): void {
  failingAs(code, `${signer}: the certificate returned does not lead to the root`, () =>
    verifyCertificatePath(parseCertificate(leaf), { intermediates: others, roots, uriHost, now }),
  );
}

/** Returns the certificates between a leaf and its roots in PEM. */
export function intermediatesOf({ others }: IssuedChain, roots: readonly X509Certificate[]): string[] {
  return others.filter((each) => !roots.some((root) => root.raw.equals(each.raw))).map(pemOf);
}

/** Returns the root at the end of a chain; undefined if there is none. */
export function rootAtEnd({ others }: IssuedChain): X509Certificate | undefined {
  const last = others.at(-1);
  if (last === undefined || !last.ca || last.subject !== last.issuer) return undefined;
  return last.verify(last.publicKey) ? last : undefined;
}

/** Returns the subject alternative names in one order. */
function namesOf({ subjectAltName = "" }: X509Certificate): string {
  return subjectAltName.split(", ").sort().join(", ");
}

function sorted(names: readonly string[]): string {
  return names
    .map((name) => `${name.startsWith("spiffe://") ? "URI" : isIP(name) ? "IP Address" : "DNS"}:${name}`)
    .sort()
    .join(", ");
}

function failingAs<T>(code: "signing" | "signer-root", context: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new CaError(code, `${context}: ${reasonOf(error)}`, { cause: error });
  }
}
