import { readFile } from "node:fs/promises";
import { type CertificateAuthority, issueServingCertificate, spiffeUri } from "@istiod/ca";
import type { ReplicaCredentials } from "./xds-replica.js";

export interface ReplicaCredentialsOptions {
  /** Returns the PEM of the roots that verify other replicas. @throws Error if they are unknown */
  readonly roots: () => string;
  /** Names of which the certificate of another replica must have one. */
  readonly serverNames: readonly string[];
  /** The CA of this replica. Absent where others sign certificates: the token is used. */
  readonly issuer?: Pick<CertificateAuthority, "bundle"> | undefined;
  readonly trustDomain: string;
  /** Returns the namespace of the identity in issued certificates, whose callers may see everything. */
  readonly rootNamespace: () => string;
  /** The token of this replica's Pod. */
  readonly token: {
    readonly file: string;
    /** Namespace of its service account. */
    readonly namespace: string;
  };
  /** Returns milliseconds since the epoch. Default: the system's clock. */
  readonly now?: () => number;
}

const lifetimeMs = 3_600_000;

/**
 * Returns the credentials of a replica towards others: a certificate that its own CA issues to it for the root
 * namespace, renewed after half of its lifetime and after each change of the CA, the roots or the namespace; or the
 * token of its Pod where others sign certificates. They are the same object while they do not change.
 */
export function replicaCredentials(options: ReplicaCredentialsOptions): () => Promise<ReplicaCredentials> {
  const { issuer, serverNames, trustDomain, rootNamespace, token, now: clock = Date.now } = options;
  let issued: { readonly of: unknown; readonly credentials: ReplicaCredentials; readonly renewal: number } | undefined;
  return async () => {
    const server = { roots: options.roots(), serverNames };
    if (issuer === undefined)
      return { ...server, namespace: token.namespace, token: (await readFile(token.file, "utf8")).trim() };
    const now = clock();
    const namespace = rootNamespace();
    const { credentials, of, renewal } = issued ?? {};
    if (
      of === issuer.bundle &&
      credentials?.roots === server.roots &&
      credentials.namespace === namespace &&
      now < (renewal ?? 0)
    )
      return credentials;
    const identity = spiffeUri({ trustDomain, namespace, serviceAccount: "istiod" });
    const { cert, key } = await issueServingCertificate(issuer, [identity], lifetimeMs, now);
    const renewed = { ...server, namespace, certificate: { cert, key } };
    issued = { of: issuer.bundle, credentials: renewed, renewal: now + lifetimeMs / 2 };
    return renewed;
  };
}
