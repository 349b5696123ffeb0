import { resolve } from "node:path";
import type { Environment } from "@istiod/settings";
import { type NetworkSettings, networkSettings } from "../bootstrap/network-settings.js";
import type { Clock } from "@istiod/runtime";
import type { Admin } from "../envoy/admin.js";
import type { Log } from "../log.js";
import type { Options } from "../options/table.js";
import { type Proxy, type ProxyType, readProxy } from "../proxy.js";

/** Inputs of an agent. */
export interface AgentInputs {
  readonly type: ProxyType;
  readonly options: Options;
  readonly env: Environment;
  readonly log: Log;
  readonly clock: Clock;
}

/** Inputs of an agent with everything that they determine; read-only for all later phases of startup. */
export interface AgentContext extends AgentInputs {
  /** When startup began, in milliseconds since the epoch. */
  readonly startedAt: number;
  readonly proxy: Proxy;
  readonly networks: NetworkSettings;
  readonly admin: Admin;
  readonly application: ApplicationAddress;
  /** Resolves a path against the agent's directory. */
  resolvePath(path: string): string;
}

/** Address at which the agent reaches the application. */
export interface ApplicationAddress {
  readonly host: string;
  /** Source address of probes, which the redirection rules exempt. Absent if traffic is not redirected. */
  readonly localAddress?: string;
}

/** Reads the proxy's identity and configuration. @throws AgentError `configuration` or `file` */
export async function readContext(inputs: AgentInputs): Promise<AgentContext> {
  const { type, options, log, clock } = inputs;
  const startedAt = clock.now();
  const proxy = await readProxy(type, options, log);
  const networks = networkSettings(proxy.addresses, options.dualStack, options.bindAddress);
  return {
    ...inputs,
    startedAt,
    proxy,
    networks,
    admin: { address: networks.localhost, port: proxy.config.proxyAdminPort },
    application: applicationAddress(options, proxy, networks),
    resolvePath: (path) => resolve(options.directory, path),
  };
}

/** Agents with a bind address share a machine on which traffic is not redirected. */
function applicationAddress(
  { bindAddress }: Options,
  { addresses }: Proxy,
  networks: NetworkSettings,
): ApplicationAddress {
  if (bindAddress !== "") return { host: bindAddress };
  const host = addresses[0] ?? networks.localhost;
  return { host, localAddress: host.includes(":") ? "::6" : "127.0.0.6" };
}

/** Formats an address as the host of a URL. */
export function urlHost(address: string): string {
  return address.includes(":") ? `[${address}]` : address;
}
