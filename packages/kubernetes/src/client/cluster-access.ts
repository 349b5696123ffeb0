import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { isIPv6 } from "node:net";
import { dirname, isAbsolute, join } from "node:path";
import type { Cluster, User } from "@kubernetes/client-node";
import { ApiError } from "../api-error.js";
import { decodeKubeconfig, type KubeconfigUser } from "./kubeconfig.js";

/** A server and the credentials for it, in the form of `@kubernetes/client-node`. */
export interface ClusterAccess {
  readonly cluster: Readonly<Cluster>;
  /** Default: no credentials. */
  readonly user?: Readonly<User> | undefined;
  /** Namespace of the context. */
  readonly namespace?: string | undefined;
}

export interface KubeconfigOptions {
  /** Default: the current context of the kubeconfig. */
  readonly context?: string;
  /** Folder that relative paths are resolved in. Default: the working directory. */
  readonly directory?: string;
}

/**
 * Reads a kubeconfig file. Token files are read again when they change.
 *
 * @throws ApiError `configuration`
 */
export async function readKubeconfig(
  path: string,
  options: Omit<KubeconfigOptions, "directory"> = {},
): Promise<ClusterAccess> {
  const text = await readFile(path, "utf8").catch((cause: unknown) => {
    throw new ApiError("configuration", `kubeconfig ${path}: ${(cause as Error).message}`, { cause });
  });
  try {
    return await parseKubeconfig(text, { ...options, directory: dirname(path) });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw new ApiError("configuration", `kubeconfig ${path}: ${error.message}`);
  }
}

/**
 * Parses the text of a kubeconfig.
 *
 * @throws ApiError `configuration`
 */
export async function parseKubeconfig(
  text: string,
  { context: wanted, directory = "." }: KubeconfigOptions = {},
): Promise<ClusterAccess> {
  const { clusters, users, contexts, currentContext } = decodeKubeconfig(text);
  const name = wanted ?? currentContext;
  const context = contexts.find((each) => each.name === name);
  if (context === undefined) throw new ApiError("configuration", `there is no context ${JSON.stringify(name ?? "")}`);
  const cluster = clusters.find((each) => each.name === context.cluster);
  if (cluster === undefined)
    throw new ApiError("configuration", `context ${name}: there is no cluster ${JSON.stringify(context.cluster)}`);
  const user = users.find((each) => each.name === context.user);
  if (context.user !== undefined && user === undefined)
    throw new ApiError("configuration", `context ${name}: there is no user ${JSON.stringify(context.user)}`);
  const resolve = (path: string): string => (isAbsolute(path) ? path : join(directory, path));
  return {
    cluster: { ...cluster, ...(cluster.caFile ? { caFile: resolve(cluster.caFile) } : {}) },
    user: user && withFiles(user, resolve),
    namespace: context.namespace,
  };
}

/** Returns the access of a Pod by its service account. `root` is the folder of the mounted volume. */
export function inClusterAccess(
  environment: Readonly<Record<string, string | undefined>> = process.env,
  root = "/var/run/secrets/kubernetes.io/serviceaccount",
): ClusterAccess {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = environment;
  if (!host || !port) {
    throw new ApiError(
      "configuration",
      "not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be set",
    );
  }
  return {
    cluster: {
      name: "in-cluster",
      server: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
      caFile: join(root, "ca.crt"),
      skipTLSVerify: false,
    },
    user: { name: "in-cluster", authProvider: { name: "tokenFile", config: { tokenFile: join(root, "token") } } },
    namespace: namespaceOf(join(root, "namespace")),
  };
}

function withFiles({ tokenFile, ...user }: KubeconfigUser, resolve: (path: string) => string): User {
  const { certFile, keyFile } = user;
  return {
    ...user,
    ...(certFile ? { certFile: resolve(certFile) } : {}),
    ...(keyFile ? { keyFile: resolve(keyFile) } : {}),
    ...(tokenFile ? { authProvider: { name: "tokenFile", config: { tokenFile: resolve(tokenFile) } } } : {}),
  };
}

function namespaceOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    return undefined;
  }
}
