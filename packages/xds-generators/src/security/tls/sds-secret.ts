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
import { duration } from "../../envoy/duration.js";
import { externalSdsCluster, rootCertificatesSuffix } from "../../resource-names.js";

/** Names of the secrets that the agent gives every workload: its own certificate, and the roots that it trusts. */
export const workloadCertificate = "default";
export const workloadRoots = "ROOTCA";

/** A credential with this prefix comes from a server that the proxy finds at a socket of its own or by the mesh's `sds` provider. */
export const externalSecretPrefix = "sds://";
const configMapPrefix = "configmap://";
const gatewaySecretPrefix = "kubernetes-gateway://";
const secretPrefix = "kubernetes://";
const builtinPrefix = "builtin://";
const invalidPrefix = "invalid://";

/** Whether a credential is a ConfigMap, which holds nothing secret. */
export function isConfigMapCredential(name: string): boolean {
  return name.startsWith(configMapPrefix);
}

/** A secret from the agent beside the proxy. Those of the workload itself are waited for without a limit. */
export function agentSecret(name: string): SdsSecretConfig {
  const own = name === workloadCertificate || name === workloadRoots;
  return secretFrom(name, "sds-grpc", own ? { initialFetchTimeout: duration(0) } : {});
}

/** A secret of files, from the agent or, where the proxy names a server of its own for files (`ownFileServer`), from that. */
export function fileSecret(name: string, ownFileServer: boolean): SdsSecretConfig {
  return ownFileServer ? secretFrom(name, "sds-files-grpc") : agentSecret(name);
}

/** A secret from another server, by the name of its cluster. */
export function externalSecret(name: string, cluster: string, authority = ""): SdsSecretConfig {
  return secretFrom(name, cluster, {}, authority);
}

/** A secret that istiod sends. Nothing waits for it longer than Envoy's default: it may not exist. */
function istiodSecret(credential: string): SdsSecretConfig {
  return create(SdsSecretConfigSchema, {
    name: secretResourceName(credential),
    sdsConfig: { configSourceSpecifier: { case: "ads", value: {} }, resourceApiVersion: ApiVersion.V3 },
  });
}

/** The secret that a `credentialName` of a DestinationRule means; `ownServer`: the proxy has a socket for external secrets. */
export function credentialSecret(credential: string, ownServer: boolean): SdsSecretConfig {
  if (credential === builtinPrefix) return agentSecret(workloadCertificate);
  if (credential === `${builtinPrefix}${rootCertificatesSuffix}`) return agentSecret(workloadRoots);
  if (!credential.startsWith(externalSecretPrefix)) return istiodSecret(credential);
  return ownServer
    ? externalSecret(credential, externalSdsCluster)
    : istiodSecret(credential.slice(externalSecretPrefix.length));
}

/** The name under which istiod serves a credential: with the kind of its object in front. */
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
