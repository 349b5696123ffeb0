import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { CertificateAuthority } from "@istiod/ca";
import {
  followedReplicas,
  givenReplicas,
  type Replica,
  type ReplicaAddress,
  type ReplicaCredentials,
  type ReplicaInstance,
  replicaCredentials,
  replicasInOtherPods,
  xdsReplica,
} from "@istiod/replicas";
import { reasonOf } from "@istiod/runtime";
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
  const credentials = credentialsOf(startup, mesh, security);
  const open = (other: ReplicaAddress): Replica => xdsReplica({ ...other, caller: name, credentials });
  const { client } = mesh;
  const port = settings.addresses.secureGRPCAddr?.port ?? 0;
  const given = givenByFlag(values.replica);
  const inPods = podName === "" || port === 0 ? undefined : client;
  const pods = { namespace: values.namespace, revision, podName, port };
  const list = async (): Promise<readonly ReplicaAddress[]> =>
    given.length > 0 || inPods === undefined ? given : await replicasInOtherPods(inPods, pods);
  return {
    instance: { id: randomUUID(), name, version, revision, startedAt },
    others: followedReplicas({ list, open }),
    areKnown: given.length > 0 || inPods !== undefined,
  };
}

const tokenFile = "/var/run/secrets/tokens/istio-token";
/** Returns the credentials of this replica: of its own CA, or its token where others sign certificates. */
function credentialsOf(
  { values, env }: Startup,
  { rootNamespace }: Mesh,
  { authority, servingRoots, trustDomain }: Security,
): () => Promise<ReplicaCredentials> {
  const issuer = authority?.authority;
  return replicaCredentials({
    issuer: issuer instanceof CertificateAuthority ? issuer : undefined,
    roots: () => {
      if (issuer !== undefined) return distributedRoots(servingRoots, issuer).current();
      if (servingRoots === undefined) throw new Error("the roots of the serving certificate are unknown");
      return servingRoots.bundle.roots.map(String).join("");
    },
    serverNames: servingNames(values, env),
    trustDomain,
    rootNamespace,
    token: { file: tokenFile, namespace: values.namespace },
  });
}

function givenByFlag(addresses: readonly string[]): readonly ReplicaAddress[] {
  try {
    return givenReplicas(addresses);
  } catch (error) {
    throw new Error(`--replica ${reasonOf(error)}`, { cause: error });
  }
}
