import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { hostname } from "node:os";
import { CertificateAuthority, issueServingCertificate, spiffeUri } from "@istiod/ca";
import {
  followedReplicas,
  type Replica,
  type ReplicaCredentials,
  type ReplicaInstance,
  replicaPods,
  xdsReplica,
} from "@istiod/replicas";
import { servingNames } from "../authority.js";
import { distributedRoots } from "../serving-roots.js";
import { variables } from "../variables.js";
import type { Mesh } from "./mesh.js";
import type { Security } from "./security.js";
import type { Startup } from "./startup.js";

/** This process as a replica, and the others. */
export interface Replicas {
  readonly instance: ReplicaInstance;
  /** Finds the other replicas. Rejects if they cannot be found. */
  readonly others: () => Promise<readonly Replica[]>;
  /** True if other replicas are given, or can be found through the API server. */
  readonly areKnown: boolean;
}

/**
 * Returns the other replicas: those of --replica, or the other Pods of this revision. They are asked over TLS, and
 * authorize this one as any caller of debug commands. @throws Error that names the flag
 */
export function openReplicas(startup: Startup, mesh: Mesh, security: Security): Replicas {
  const { values, env, version, startedAt, settings } = startup;
  const podName = variables.podName.read(env);
  const name = podName || hostname();
  const revision = variables.revision.read(env) || "default";
  const credentials = replicaCredentials(startup, mesh, security);
  const open = (other: { readonly name: string; readonly address: string }): Replica =>
    xdsReplica({ ...other, caller: name, credentials });
  const { client } = mesh;
  const port = settings.addresses.secureGRPCAddr?.port ?? 0;
  const list = async (): Promise<readonly { readonly name: string; readonly address: string }[]> => {
    if (values.replica.length > 0) return values.replica.map((address) => ({ name: address, address }));
    if (client === undefined || podName === "" || port === 0) return [];
    const pods = await replicaPods(client, { namespace: values.namespace, revision });
    return pods
      .filter((pod) => pod.name !== podName)
      .map((pod) => ({ name: pod.name, address: `${bracketed(pod.address)}:${port}` }));
  };
  for (const address of values.replica) checkAddress(address);
  return {
    instance: { id: randomUUID(), name, version, revision, startedAt },
    others: followedReplicas({ list, open }),
    areKnown: values.replica.length > 0 || (client !== undefined && podName !== "" && port !== 0),
  };
}

const tokenFile = "/var/run/secrets/tokens/istio-token";
const lifetimeMs = 3_600_000;

/**
 * Returns the credentials of this replica: a certificate that its own CA issues to it for the root namespace,
 * or the token of its Pod where others sign certificates.
 */
function replicaCredentials(
  { values, env }: Startup,
  { rootNamespace }: Mesh,
  { authority, servingRoots, trustDomain }: Security,
): () => Promise<ReplicaCredentials> {
  const issuer = authority?.authority;
  const rootsOf = (): string => {
    if (issuer !== undefined) return distributedRoots(servingRoots, issuer).current();
    if (servingRoots === undefined) throw new Error("the roots of the serving certificate are unknown");
    return servingRoots.bundle.roots.map(String).join("");
  };
  let issued: { readonly of: unknown; readonly credentials: ReplicaCredentials; readonly renewal: number } | undefined;
  return async () => {
    const server = { roots: rootsOf(), serverNames: servingNames(values, env) };
    if (!(issuer instanceof CertificateAuthority))
      return { ...server, namespace: values.namespace, token: (await readFile(tokenFile, "utf8")).trim() };
    const now = Date.now();
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

function checkAddress(address: string): void {
  const isValid = URL.canParse(`https://${address}`) && /:\d+$/.test(address) && !/[/?#@]/.test(address);
  if (!isValid) throw new Error(`--replica ${address}: expected a host and a port, as in 10.0.0.2:15012`);
}

function bracketed(address: string): string {
  return address.includes(":") ? `[${address}]` : address;
}
