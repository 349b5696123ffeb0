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
const TRUST_DOMAIN = /^[a-z0-9._-]{1,255}$/;

/** A DNS label, as Kubernetes asks of a namespace (RFC 1123). */
const NAMESPACE = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** A DNS subdomain, as Kubernetes asks of a service account (RFC 1123). */
const SERVICE_ACCOUNT = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/;

/**
 * The identity as a URI. An `@` in a trust domain becomes a dot, as in Istio, where it may be an e-mail address.
 *
 * @throws CaError `identity` where a part could change the meaning of the whole
 */
export function spiffeUri(identity: SpiffeIdentity): string {
  const trustDomain = identity.trustDomain.replaceAll("@", ".");
  check(TRUST_DOMAIN, trustDomain, "trust domain");
  check(NAMESPACE, identity.namespace, "namespace");
  check(SERVICE_ACCOUNT, identity.serviceAccount, "service account");
  return `spiffe://${trustDomain}/ns/${identity.namespace}/sa/${identity.serviceAccount}`;
}

/** Reads such a URI. @throws CaError `identity` */
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

/** Returns the workload identities among a caller's identities; names of other forms are left out. */
export function spiffeIdentities(identities: readonly string[]): readonly SpiffeIdentity[] {
  return identities.flatMap((identity) => {
    try {
      return [parseSpiffeUri(identity)];
    } catch {
      return [];
    }
  });
}

const SUBJECT_PREFIX = "system:serviceaccount:";

/**
 * The identity in a Kubernetes token's subject, `system:serviceaccount:<namespace>:<name>`. @throws CaError `identity`
 */
export function identityOfSubject(subject: string, trustDomain: string): SpiffeIdentity {
  const parts = subject.startsWith(SUBJECT_PREFIX) ? subject.slice(SUBJECT_PREFIX.length).split(":") : [];
  const [namespace, serviceAccount] = parts;
  if (namespace === undefined || serviceAccount === undefined || parts.length !== 2) {
    throw new CaError(
      "identity",
      `subject ${JSON.stringify(subject)} is not of the form ${SUBJECT_PREFIX}<namespace>:<name>`,
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
