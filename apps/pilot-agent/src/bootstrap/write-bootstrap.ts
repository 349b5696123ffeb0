import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { AuthenticationPolicy } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import type { WorkloadIdentity } from "../certificates/workload-identity.js";
import type { Log } from "../log.js";
import { supportsMetadataDiscovery } from "../envoy/metadata-discovery.js";
import { isTrue, type NodeInputs, type NodeMetadata, buildNodeMetadata } from "../node/metadata.js";
import type { Options } from "../options/table.js";
import { splitAddress } from "../proxy-config/load.js";
import type { Proxy } from "../proxy.js";
import { ISTIO_VERSION } from "../version.js";
import { buildBootstrap } from "./bootstrap.js";

/** Writes the bootstrap, and the files that it names; readable by the owner only. @throws AgentError `configuration` */
export async function writeBootstrap(
  file: string,
  proxy: Proxy,
  options: Options,
  env: Readonly<Record<string, string | undefined>>,
  identity: WorkloadIdentity,
  log: Log,
): Promise<void> {
  const { config } = proxy;
  const directory = resolve(options.directory, config.configPath);
  const ports = {
    statusPort: options.statusPort,
    prometheusPort: options.prometheusPort,
    secureMetricsPort: options.secureMetricsPort,
    secureMergedMetricsPort: options.secureMergedMetricsPort,
  };
  const node = await nodeOf(options, log, {
    env,
    proxyConfig: config,
    addresses: proxy.addresses,
    ...(proxy.podLabels ? { podLabels: proxy.podLabels } : {}),
    ...(proxy.podAnnotations ? { podAnnotations: proxy.podAnnotations } : {}),
    version: ISTIO_VERSION,
    pilotSubjectAltNames:
      config.controlPlaneAuthPolicy === AuthenticationPolicy.MUTUAL_TLS ? [istiodName(config.discoveryAddress)] : [],
    outlierLogPath: options.outlierLogPath,
    ...ports,
    exitOnZeroConnections: options.exitOnZeroConnections,
    skipDeprecatedLogs: options.skipDeprecatedLogs,
    workloadIdentitySocket: options.workloadIdentitySocket,
    credentialSocket: identity.credentialSocket,
    filesSocket: identity.filesSocket !== undefined,
    log,
  });
  const text = (key: string): string => (typeof node.metadata[key] === "string" ? node.metadata[key] : "");
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const { tracing } = config;
  const lightstepTokenFile = join(directory, "lightstep_access_token.txt");
  if (tracing?.tracer.case === "lightstep")
    await writeFile(lightstepTokenFile, tracing.tracer.value.accessToken, { mode: 0o600 });
  const bootstrap = buildBootstrap({
    nodeId: proxy.nodeId,
    node,
    proxyConfig: config,
    addresses: proxy.addresses,
    namespace: text("NAMESPACE"),
    workloadName: text("WORKLOAD_NAME"),
    ...ports,
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
  });
  await writeFile(file, JSON.stringify(bootstrap, undefined, 2), { mode: 0o600 });
}

/**
 * The node, with peer metadata discovery as `PEER_METADATA_DISCOVERY` says. Where that says nothing, workloads with
 * HBONE have it if their Envoy has the extension.
 */
async function nodeOf(options: Options, log: Log, inputs: NodeInputs): Promise<NodeMetadata> {
  if (options.metadataDiscovery !== "")
    return buildNodeMetadata({ ...inputs, metadataDiscovery: isTrue(options.metadataDiscovery) });
  const node = buildNodeMetadata(inputs);
  const binary = options.envoyPath || inputs.proxyConfig.binaryPath;
  if (
    !isTrue(node.metadata["METADATA_DISCOVERY"]) ||
    (await supportsMetadataDiscovery(binary, resolve(options.directory)))
  )
    return node;
  log.warn(`peer metadata discovery is disabled: ${binary} has no extension istio.workload.BootstrapExtension`);
  return buildNodeMetadata({ ...inputs, metadataDiscovery: false });
}

/** A name that istiod's certificate has; for a port on this machine, the usual one. */
function istiodName(address: string): string {
  const host = splitAddress(address)?.host ?? address;
  return host === "localhost" ? "istiod.istio-system.svc" : host;
}
