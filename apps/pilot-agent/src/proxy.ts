import { resolve } from "node:path";
import type { ProxyConfig } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { AgentError } from "./errors.js";
import { type Log, silentLog } from "./log.js";
import { workloadAddresses } from "./node/addresses.js";
import { readDownwardApi } from "./node/downward-api.js";
import type { Options } from "./options/table.js";
import type { Platform } from "./platform/platform.js";
import { readPlatform } from "./platform/read-platform.js";
import { loadProxyConfig } from "./proxy-config/load.js";

/** The proxy's type: `sidecar` next to an application, `router` as a gateway. */
export type ProxyType = "sidecar" | "router";

/** Identity and configuration of the agent's proxy. */
export interface Proxy {
  readonly type: ProxyType;
  /** `<type>~<ip>~<pod>.<namespace>~<domain>` */
  readonly nodeId: string;
  readonly addresses: readonly string[];
  readonly config: ProxyConfig;
  readonly domain: string;
  /** From the downward API; `undefined` outside Kubernetes. */
  readonly podLabels: Readonly<Record<string, string>> | undefined;
  readonly podAnnotations: Readonly<Record<string, string>> | undefined;
  /** The cloud of CLOUD_PLATFORM. */
  readonly platform: Platform | undefined;
}

const LABELS_FILE = "./etc/istio/pod/labels";
const ANNOTATIONS_FILE = "./etc/istio/pod/annotations";

/** Parses the type of a proxy. @throws AgentError `option` */
export function parseProxyType(text: string): ProxyType {
  if (text === "sidecar" || text === "router") return text;
  throw new AgentError("option", `proxy type ${JSON.stringify(text)} must be sidecar or router`);
}

/**
 * Reads the proxy's identity and configuration from options, mesh configuration and the downward API.
 *
 * @throws AgentError `configuration` or `file`
 */
export async function readProxy(type: ProxyType, options: Options, log: Log = silentLog): Promise<Proxy> {
  const resolvePath = (path: string): string => resolve(options.directory, path);
  const podLabels = await readDownwardApi(resolvePath(LABELS_FILE));
  const podAnnotations = await readDownwardApi(resolvePath(ANNOTATIONS_FILE));
  const warn = (message: string): void => log.warn(message);
  const config = await loadProxyConfig(options, resolvePath(options.meshConfigFile), podAnnotations ?? {}, warn);
  const platform = await readPlatform(options, log);
  const addresses = workloadAddresses(options.instanceIp);
  const domain = options.domain || `${options.podNamespace}.svc.cluster.local`;
  const nodeId = [type, addresses[0] ?? "", `${options.podName}.${options.podNamespace}`, domain].join("~");
  log.info({ addresses, domain }, `Proxy role: ${nodeId}`);
  return { type, nodeId, addresses, config, domain, podLabels, podAnnotations, platform };
}
