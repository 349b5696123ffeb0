import type { Proxy } from "@istiod/push-context";
import { resource, type Resource } from "@istiod/resources";
import { type DebugAnswer, type DebugCommand, refuse } from "./command.js";
import { ofOwnProxies } from "./access.js";

/** The type by which clients ask debug endpoints over xDS, as `istioctl` does; the names of resources are commands, such as `config_dump?proxyID=web.shop`. */
export const debugType = "istio.io/debug";

export interface DebugOverXdsOptions {
  readonly commands: readonly DebugCommand[];
  readonly rootNamespace: () => string;
}

/**
 * Answers a debug command for a client of the xDS server: one whose identity was proven, and that is of the root namespace, or asks for what it may
 * know of proxies of its own. A refusal is the answer's text.
 */
export function debugOverXds({ commands, rootNamespace }: DebugOverXdsOptions): (proxy: Proxy, name: string) => Resource {
  const answer = ({ verifiedIdentity }: Proxy, url: URL): DebugAnswer | Promise<DebugAnswer> => {
    if (verifiedIdentity === undefined) return refuse(401, "authentication required");
    const { namespace } = verifiedIdentity;
    const name = url.pathname.replace(/^\/+(debug\/)?/, "");
    const confined = namespace !== rootNamespace();
    if (confined && !ofOwnProxies.has(name)) return refuse(403, `the debug info is not available for current identity: namespace ${namespace}`);
    const command = commands.find((c) => c.name === name);
    return command?.answer({ query: url.searchParams, namespace: confined ? namespace : undefined }) ?? refuse(404, `there is no debug command ${name}`);
  };
  return (proxy, name) => {
    const found = answer(proxy, new URL(name, "http://istiod/"));
    const given = found instanceof Promise ? refuse(501, `${name} takes time: ask for it over HTTP`) : found;
    return resource(name, Buffer.from("json" in given ? JSON.stringify(given.json) : given.text));
  };
}
