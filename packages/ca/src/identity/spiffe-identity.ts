import { CaError } from "../errors.js";

/**
 * A workload's identity in Istio's form of a SPIFFE ID: `spiffe://<trust domain>/ns/<namespace>/sa/<service account>`.
 */
export interface SpiffeIdentity {
  readonly trustDomain: string;
  readonly namespace: string;
  readonly serviceAccount: string;
}

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
  const trustDomain = identity.trustDomain.replaceAll("@", ".");
  check(trustDomainPattern, trustDomain, "trust domain");
  check(namespacePattern, identity.namespace, "namespace");
  check(serviceAccountPattern, identity.serviceAccount, "service account");
  return `spiffe://${trustDomain}/ns/${identity.namespace}/sa/${identity.serviceAccount}`;
}

/** Parses the URI of an identity. @throws CaError `identity` */
export function parseSpiffeUri(uri: string): SpiffeIdentity {
  const [trustDomain, ns, namespace, sa, serviceAccount, ...rest] = uri.startsWith("spiffe://")
    ? uri.slice(9).split("/")
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
  spiffeUri(identity);
  return identity;
}

/** Returns the workload identities among a caller's identities; other names are skipped. */
export function spiffeIdentities(identities: readonly string[]): readonly SpiffeIdentity[] {
  return identities.flatMap((identity) => {
    try {
      return [parseSpiffeUri(identity)];
    } catch {
      return [];
    }
  });
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

function check(rule: RegExp, value: string, what: string): void {
  if (!rule.test(value))
    throw new CaError("identity", `${what} ${JSON.stringify(value)} is not valid in a SPIFFE identity`);
}
