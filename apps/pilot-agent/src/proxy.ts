import { resolve } from "node:path";
import type { ProxyConfig } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { AgentError } from "./errors.js";
import { type Log, silentLog } from "./log.js";
import { workloadAddresses } from "./node/addresses.js";
import { readDownwardApi } from "./node/downward-api.js";
import type { Options } from "./options/table.js";
import { loadProxyConfig } from "./proxy-config/load.js";

/** What kind of proxy the agent runs: beside an application, or alone as a gateway. */
export type ProxyType = "sidecar" | "router";

/** The proxy that the agent runs, as far as its surroundings tell. */
export interface Proxy {
  readonly type: ProxyType;
  /** `<type>~<ip>~<pod>.<namespace>~<domain>` */
  readonly nodeId: string;
  readonly addresses: readonly string[];
  readonly config: ProxyConfig;
  readonly domain: string;
  /** From the downward API; absent where there is none. */
  readonly podLabels: Readonly<Record<string, string>> | undefined;
  readonly podAnnotations: Readonly<Record<string, string>> | undefined;
}

const LABELS_FILE = "./etc/istio/pod/labels";
const ANNOTATIONS_FILE = "./etc/istio/pod/annotations";

/** @throws AgentError `option` */
export function proxyType(text: string): ProxyType {
  if (text === "sidecar" || text === "router") return text;
  throw new AgentError("option", `proxy type ${JSON.stringify(text)} is not known; expected sidecar or router`);
}

/** Reads what the agent's surroundings say of its proxy. @throws AgentError `configuration` or `file` */
export async function readProxy(type: ProxyType, options: Options, log: Log = silentLog): Promise<Proxy> {
  const at = (path: string): string => resolve(options.directory, path);
  const podLabels = await readDownwardApi(at(LABELS_FILE));
  const podAnnotations = await readDownwardApi(at(ANNOTATIONS_FILE));
  const config = await loadProxyConfig(options, at(options.meshConfigFile), podAnnotations ?? {});
  const addresses = workloadAddresses(options.instanceIp);
  const domain = options.domain || `${options.podNamespace}.svc.cluster.local`;
  const nodeId = [type, addresses[0] ?? "", `${options.podName}.${options.podNamespace}`, domain].join("~");
  log.info({ addresses, domain }, `proxy ${nodeId}`);
  return { type, nodeId, addresses, config, domain, podLabels, podAnnotations };
}
