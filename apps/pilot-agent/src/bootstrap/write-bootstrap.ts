import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { AuthenticationPolicy } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import type { Environment } from "@istiod/settings";
import type { WorkloadIdentity } from "../certificates/workload-identity.js";
import { supportsMetadataDiscovery } from "../envoy/metadata-discovery.js";
import type { Log } from "../log.js";
import { buildNodeMetadata, isTrue, type NodeInputs, type NodeMetadata } from "../node/metadata.js";
import type { Options } from "../options/table.js";
import { splitAddress } from "../proxy-config/load.js";
import type { Proxy } from "../proxy.js";
import { ISTIO_VERSION } from "../version.js";
import type { BootstrapInputs } from "./bootstrap-inputs.js";
import { buildBootstrap } from "./bootstrap.js";

/** Inputs of {@link writeBootstrap}. */
export interface WriteBootstrapInputs {
  readonly proxy: Proxy;
  readonly options: Options;
  readonly env: Environment;
  readonly identity: WorkloadIdentity;
  readonly log: Log;
}

/**
 * Writes Envoy's bootstrap and the files that it refers to, readable by the owner only.
 *
 * @throws AgentError `configuration`
 */
export async function writeBootstrap(file: string, inputs: WriteBootstrapInputs): Promise<void> {
  const { proxy, options, log } = inputs;
  const directory = resolve(options.directory, proxy.config.configPath);
  const node = await nodeWithMetadataDiscovery(options, log, nodeInputs(inputs));
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const { tracing } = proxy.config;
  const lightstepTokenFile = join(directory, "lightstep_access_token.txt");
  if (tracing?.tracer.case === "lightstep")
    await writeFile(lightstepTokenFile, tracing.tracer.value.accessToken, { mode: 0o600 });
  const bootstrap = buildBootstrap(bootstrapInputs(inputs, node, lightstepTokenFile));
  await writeFile(file, JSON.stringify(bootstrap, undefined, 2), { mode: 0o600 });
}

function listenerPorts({ statusPort, prometheusPort, secureMetricsPort, secureMergedMetricsPort }: Options) {
  return { statusPort, prometheusPort, secureMetricsPort, secureMergedMetricsPort };
}

/** Returns what the metadata of the agent's node is built from. */
export function nodeInputs({ proxy, options, env, identity, log }: WriteBootstrapInputs): NodeInputs {
  const { config, addresses, podLabels, podAnnotations, platform } = proxy;
  return {
    env,
    proxyConfig: config,
    addresses,
    ...(podLabels ? { podLabels } : {}),
    ...(podAnnotations ? { podAnnotations } : {}),
    platform,
    version: ISTIO_VERSION,
    pilotSubjectAltNames:
      config.controlPlaneAuthPolicy === AuthenticationPolicy.MUTUAL_TLS ? [istiodName(config.discoveryAddress)] : [],
    outlierLogPath: options.outlierLogPath,
    ...listenerPorts(options),
    exitOnZeroConnections: options.exitOnZeroConnections,
    skipDeprecatedLogs: options.skipDeprecatedLogs,
    workloadIdentitySocket: options.workloadIdentitySocket,
    credentialSocket: identity.credentialSocket,
    filesSocket: identity.filesSocket !== undefined,
    servesRevocationLists: true,
    log,
  };
}

function bootstrapInputs(
  { proxy, options, identity, log }: WriteBootstrapInputs,
  node: NodeMetadata,
  lightstepTokenFile: string,
): BootstrapInputs {
  const { nodeId, config, addresses } = proxy;
  const text = (key: string): string => (typeof node.metadata[key] === "string" ? node.metadata[key] : "");
  return {
    nodeId,
    node,
    proxyConfig: config,
    addresses,
    namespace: text("NAMESPACE"),
    workloadName: text("WORKLOAD_NAME"),
    ...listenerPorts(options),
    bindAddress: options.bindAddress,
    sdsSocket: `./var/run/secrets/workload-spiffe-uds/${options.workloadIdentitySocket}`,
    ...(identity.filesSocket === undefined ? {} : { filesSocket: identity.filesSocket }),
    xdsSocket: `${config.configPath}/XDS`,
    outlierLogPath: options.outlierLogPath,
    logAsJson: options.logAsJson,
    deltaXds: options.deltaXds,
    dualStack: options.dualStack,
    statusProxyProtocol: options.statusProxyProtocol,
    exitOnZeroConnections: options.exitOnZeroConnections,
    compliancePolicy: options.compliancePolicy,
    lightstepTokenFile,
    ...(options.hostIp ? { hostIp: options.hostIp } : {}),
    warn: (message) => log.warn(message),
  };
}

/**
 * Builds the node, with peer metadata discovery as set by `PEER_METADATA_DISCOVERY`. By default, workloads with HBONE
 * have it if Envoy has the extension.
 */
async function nodeWithMetadataDiscovery(options: Options, log: Log, inputs: NodeInputs): Promise<NodeMetadata> {
  if (options.metadataDiscovery !== "")
    return buildNodeMetadata({ ...inputs, metadataDiscovery: isTrue(options.metadataDiscovery) });
  const node = buildNodeMetadata(inputs);
  if (!isTrue(node.metadata["METADATA_DISCOVERY"])) return node;
  const binary = options.envoyPath || inputs.proxyConfig.binaryPath;
  if (await supportsMetadataDiscovery(binary, resolve(options.directory))) return node;
  log.warn(`disabling metadata discovery: ${binary} has no extension istio.workload.BootstrapExtension`);
  return buildNodeMetadata({ ...inputs, metadataDiscovery: false });
}

/** Returns a name in istiod's certificate: the host, or istiod's Service for a forwarded port on localhost. */
function istiodName(address: string): string {
  const host = splitAddress(address)?.host ?? address;
  return host === "localhost" ? "istiod.istio-system.svc" : host;
}
