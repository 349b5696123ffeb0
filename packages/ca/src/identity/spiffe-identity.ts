import { CaError } from "../errors.js";

/**
 * A workload's identity in Istio's form of a SPIFFE ID: `spiffe://<trust domain>/ns/<namespace>/sa/<service account>`.
 */
export interface SpiffeIdentity {
  readonly trustDomain: string;
  readonly namespace: string;
  readonly serviceAccount: string;
}

/** Maximum length in bytes (SPIFFE ID §2.3). All accepted characters are ASCII. */
const maxUriLength = 2048;

/** SPIFFE ID §2.1: lower-case letters, digits, dots, dashes and underscores; at most 255 bytes. */
const trustDomainPattern = /^[a-z0-9._-]{1,255}$/;

/** A DNS label, as Kubernetes requires for namespaces (RFC 1123). */
const namespacePattern = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** A DNS subdomain, as Kubernetes requires for service accounts (RFC 1123). */
const serviceAccountPattern =
  /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/;

/**
 * Formats an identity as a URI. As in Istio, an `@` in a trust domain becomes a dot.
 *
 * @throws CaError `identity` if a part is invalid
 */
export function spiffeUri(identity: SpiffeIdentity): string {
  const trustDomain = sanitizedTrustDomain(identity.trustDomain);
  checkParts({ ...identity, trustDomain });
  return `spiffe://${trustDomain}/ns/${identity.namespace}/sa/${identity.serviceAccount}`;
}

/**
 * Parses the URI of an identity. The URI must be exactly what {@link spiffeUri} formats: without user information,
 * port, query, fragment, percent-encoding, or empty or relative path segments (SPIFFE ID §2).
 *
 * @throws CaError `identity`
 */
export function parseSpiffeUri(uri: string): SpiffeIdentity {
  if (uri.length > maxUriLength)
    throw new CaError("identity", `URI of ${uri.length} characters: a SPIFFE ID has at most ${maxUriLength}`);
  const [trustDomain, ns, namespace, sa, serviceAccount, ...rest] = uri.startsWith("spiffe://")
    ? uri.slice("spiffe://".length).split("/")
    : [];
  if (
    trustDomain === undefined ||
    ns !== "ns" ||
    namespace === undefined ||
    sa !== "sa" ||
    serviceAccount === undefined ||
    rest.length > 0
  ) {
    throw new CaError(
      "identity",
      `${JSON.stringify(uri)} is not of the form spiffe://<trust domain>/ns/<namespace>/sa/<service account>`,
    );
  }
  const identity = { trustDomain, namespace, serviceAccount };
  checkParts(identity);
  return identity;
}

/**
 * Returns the first identity of a trust domain among a caller's identities; undefined if it has none. Identities of
 * other trust domains, including aliases of this one, are those of strangers.
 */
export function identityIn(trustDomain: string, identities: readonly string[]): SpiffeIdentity | undefined {
  const sanitized = sanitizedTrustDomain(trustDomain);
  for (const uri of identities) {
    try {
      const identity = parseSpiffeUri(uri);
      if (identity.trustDomain === sanitized) return identity;
    } catch {
      // Names that are not workload identities do not count.
    }
  }
  return undefined;
}

const subjectPrefix = "system:serviceaccount:";

/**
 * Parses a Kubernetes token's subject, `system:serviceaccount:<namespace>:<name>`. @throws CaError `identity`
 */
export function identityOfSubject(subject: string, trustDomain: string): SpiffeIdentity {
  const parts = subject.startsWith(subjectPrefix) ? subject.slice(subjectPrefix.length).split(":") : [];
  const [namespace, serviceAccount] = parts;
  if (namespace === undefined || serviceAccount === undefined || parts.length !== 2) {
    throw new CaError(
      "identity",
      `subject ${JSON.stringify(subject)} is not of the form ${subjectPrefix}<namespace>:<name>`,
    );
  }
  const identity = { trustDomain, namespace, serviceAccount };
  spiffeUri(identity);
  return identity;
}

/** Returns a trust domain as it occurs in identities. As in Istio, an `@` becomes a dot. */
export function sanitizedTrustDomain(trustDomain: string): string {
  return trustDomain.replaceAll("@", ".");
}

function checkParts({ trustDomain, namespace, serviceAccount }: SpiffeIdentity): void {
  check(trustDomainPattern, trustDomain, "trust domain");
  check(namespacePattern, namespace, "namespace");
  check(serviceAccountPattern, serviceAccount, "service account");
}

function check(rule: RegExp, value: string, what: string): void {
  if (!rule.test(value))
    throw new CaError("identity", `${what} ${JSON.stringify(value)} is not valid in a SPIFFE identity`);
}
