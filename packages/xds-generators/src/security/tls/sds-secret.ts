import { create } from "@bufbuild/protobuf";
import type { Duration } from "@bufbuild/protobuf/wkt";
import {
  ApiConfigSource_ApiType,
  ApiVersion,
  type ConfigSource,
  ConfigSourceSchema,
} from "@istiod/envoy-api/envoy/config/core/v3/config_source";
import {
  type SdsSecretConfig,
  SdsSecretConfigSchema,
} from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/secret";
import type { QueryContext } from "@istiod/incremental";
import { rawMetadata } from "@istiod/push-context";
import { duration } from "../../envoy/duration.js";
import { externalSdsCluster, rootCertificatesSuffix } from "../../resource-names.js";

/** Secrets that the agent serves to every workload: its own certificate, and its roots. */
export const workloadCertificate = "default";
export const workloadRoots = "ROOTCA";

/**
 * The prefix of credentials from an external SDS server: on a Unix domain socket of the proxy, or the mesh's `sds`
 * provider.
 */
export const externalSecretPrefix = "sds://";
const configMapPrefix = "configmap://";
const gatewaySecretPrefix = "kubernetes-gateway://";
const secretPrefix = "kubernetes://";
const builtinPrefix = "builtin://";
const invalidPrefix = "invalid://";

/**
 * Reports whether sidecars may request a credential that no workload selector limits: a ConfigMap, which has no keys,
 * or one that is never served, so that connections fail.
 */
export function isForAllSidecars(name: string): boolean {
  return name.startsWith(configMapPrefix) || name.startsWith(invalidPrefix);
}

/** A secret from the agent. The workload's own secrets are awaited without a timeout. */
export function agentSecret(name: string): SdsSecretConfig {
  const own = name === workloadCertificate || name === workloadRoots || name.startsWith(`${workloadRoots}~`);
  return secretFrom(name, "sds-grpc", own ? { initialFetchTimeout: duration(0) } : {});
}

/** A secret with files, from the agent or, if the proxy has one (`ownFileServer`), from its own file server. */
export function fileSecret(name: string, ownFileServer: boolean): SdsSecretConfig {
  return ownFileServer ? secretFrom(name, "sds-files-grpc") : agentSecret(name);
}

/**
 * Reports whether the agent serves revocation lists of a file together with roots, by names such as
 * `file-root:<roots>~<lists>`. Envoy reads a file itself only when it accepts a listener or cluster: it rejects all of
 * it if the file is absent, and does not notice changes.
 */
export function servesRevocationLists(q: QueryContext): boolean {
  return q.ask(rawMetadata, "FILE_CRL") === "true";
}

/** A secret from another SDS server, by cluster name. */
export function externalSecret(name: string, cluster: string, authority = ""): SdsSecretConfig {
  return secretFrom(name, cluster, {}, authority);
}

/** A secret from istiod. Envoy's default timeout applies, since it may not exist. */
function istiodSecret(credential: string): SdsSecretConfig {
  return create(SdsSecretConfigSchema, {
    name: secretResourceName(credential),
    sdsConfig: { configSourceSpecifier: { case: "ads", value: {} }, resourceApiVersion: ApiVersion.V3 },
  });
}

/** Returns a secret that is never served, so that TLS handshakes fail. It stands in for an unknown one. */
export function invalidSecret(): SdsSecretConfig {
  return istiodSecret(invalidPrefix);
}

/** Returns the secret for a `credentialName`. `ownServer`: the proxy has a Unix domain socket for external secrets. */
export function credentialSecret(credential: string, ownServer: boolean): SdsSecretConfig {
  if (credential === builtinPrefix) return agentSecret(workloadCertificate);
  if (credential === `${builtinPrefix}${rootCertificatesSuffix}`) return agentSecret(workloadRoots);
  if (!credential.startsWith(externalSecretPrefix)) return istiodSecret(credential);
  return ownServer
    ? externalSecret(credential, externalSdsCluster)
    : istiodSecret(credential.slice(externalSecretPrefix.length));
}

/** Returns the resource name of a credential, which starts with the kind of its object. */
function secretResourceName(credential: string): string {
  if (credential.startsWith(builtinPrefix)) return "default";
  if (credential.startsWith(invalidPrefix)) return invalidPrefix;
  return [configMapPrefix, secretPrefix, gatewaySecretPrefix].some((prefix) => credential.startsWith(prefix))
    ? credential
    : secretPrefix + credential;
}

function secretFrom(
  name: string,
  cluster: string,
  limit: { readonly initialFetchTimeout?: Duration } = {},
  authority = "",
): SdsSecretConfig {
  const sdsConfig: ConfigSource = create(ConfigSourceSchema, {
    ...limit,
    configSourceSpecifier: {
      case: "apiConfigSource",
      value: {
        apiType: ApiConfigSource_ApiType.GRPC,
        setNodeOnFirstMessageOnly: true,
        transportApiVersion: ApiVersion.V3,
        grpcServices: [{ targetSpecifier: { case: "envoyGrpc", value: { clusterName: cluster, authority } } }],
      },
    },
    resourceApiVersion: ApiVersion.V3,
  });
  return create(SdsSecretConfigSchema, { name, sdsConfig });
}
