import { clone, create } from "@bufbuild/protobuf";
import { type Duration, DurationSchema, durationMs } from "@bufbuild/protobuf/wkt";
import { readFile } from "node:fs/promises";
import { lookup } from "node:dns/promises";
import { type ProxyConfig, ProxyConfigSchema } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { AgentError } from "../errors.js";
import type { Options } from "../options/table.js";
import { defaultProxyConfig } from "./defaults.js";
import { overlay, overlayMesh, type Warn } from "./overlay.js";

/** Annotations of the pod that override the proxy configuration. */
const PROXY_CONFIG_ANNOTATION = "proxy.istio.io/config";
const DISCOVERY_ADDRESS_ANNOTATION = "sidecar.istio.io/discoveryAddress";
const STATUS_PORT_ANNOTATION = "status.sidecar.istio.io/port";

/**
 * Loads the proxy configuration: defaults, overridden by the mesh configuration, PROXY_CONFIG and the pod's annotation,
 * in this order.
 *
 * @param meshFile absolute path; an absent file counts as empty
 * @param warn called with each field that is ignored
 * @throws AgentError `configuration` or `file`
 */
export async function loadProxyConfig(
  options: Options,
  meshFile: string,
  annotations: Readonly<Record<string, string>>,
  warn?: Warn,
): Promise<ProxyConfig> {
  let config = defaultProxyConfig();
  const mesh = await readIfPresent(meshFile);
  if (mesh !== undefined) config = overlayMesh(config, mesh, meshFile, warn);
  if (options.proxyConfig !== "") config = overlay(config, options.proxyConfig, "PROXY_CONFIG", warn);
  const annotation = annotations[PROXY_CONFIG_ANNOTATION];
  if (annotation !== undefined) config = overlay(config, annotation, `annotation ${PROXY_CONFIG_ANNOTATION}`, warn);
  config = clone(ProxyConfigSchema, config);

  if (config.concurrency === undefined && options.cpuLimit > 0) config.concurrency = options.cpuLimit;
  if (options.concurrency !== 0) config.concurrency = options.concurrency;
  if (config.clusterName.case === "serviceCluster" && config.clusterName.value === "")
    config.clusterName.value = options.serviceCluster;
  config.discoveryAddress = annotations[DISCOVERY_ADDRESS_ANNOTATION] ?? config.discoveryAddress;
  const statusPort = annotations[STATUS_PORT_ANNOTATION];
  if (statusPort !== undefined) config.statusPort = Number(statusPort);
  if (config.statsdUdpAddress !== "") config.statsdUdpAddress = await resolveAddress(config.statsdUdpAddress);
  validate(config);
  return config;
}

/** Splits `host:port` or `[v6]:port`; `undefined` if malformed. */
export function splitAddress(address: string): { host: string; port: number } | undefined {
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(address) ?? [];
  const number = Number(port);
  return port === undefined || number > 65535 ? undefined : { host: bracketed ?? plain ?? "", port: number };
}

function validate(config: ProxyConfig): void {
  const reject = (field: string, expected: string): never => {
    throw new AgentError("configuration", `proxy configuration: ${field}: ${expected}`);
  };
  if (config.configPath === "") reject("configPath", "must be a directory");
  if (!splitAddress(config.discoveryAddress))
    reject("discoveryAddress", `${JSON.stringify(config.discoveryAddress)} must be host:port`);
  for (const field of ["proxyAdminPort", "statusPort"] as const) {
    if (!Number.isInteger(config[field]) || config[field] < 0 || config[field] > 65535)
      reject(field, `${config[field]} must be a port`);
  }
  for (const field of ["drainDuration", "terminationDrainDuration"] as const) {
    const value = config[field];
    if (value && durationMs(value) < 0) reject(field, "must not be negative");
  }
  const provider = config.privateKeyProvider?.provider;
  if (provider && provider.case === undefined) reject("privateKeyProvider", "must have cryptomb or qat");
  if (provider?.case !== undefined && !isPositive(provider.value.pollDelay))
    reject(`privateKeyProvider.${provider.case}.pollDelay`, "must be a duration of more than 0");
}

function isPositive({ seconds, nanos }: Duration = create(DurationSchema)): boolean {
  return seconds > 0n || (seconds === 0n && nanos > 0);
}

/** Resolves the address of the statsd sink, which must be an IP address. Returns `""` if that fails. */
async function resolveAddress(address: string): Promise<string> {
  const parts = splitAddress(address);
  if (!parts) return "";
  try {
    const found = await lookup(parts.host, { all: true });
    const first = found.find(({ family }) => family === 4) ?? found[0];
    if (!first) return "";
    return first.family === 6 ? `[${first.address}]:${parts.port}` : `${first.address}:${parts.port}`;
  } catch {
    return "";
  }
}

async function readIfPresent(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw AgentError.from(error, "file", `${path} cannot be read`);
  }
}
