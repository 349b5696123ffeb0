import { fromJson, type JsonObject, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { messageRegistry } from "@istiod/explain";
import type { Proxy } from "@istiod/push-context";
import type { Answer, Connection, OnDemandHandler, XdsServer } from "@istiod/xds-server";
import { readProxy } from "../mesh-source.js";
import { variables } from "../variables.js";
import { ofOwnProxies } from "./access.js";
import { clientConfigs } from "./client-configs.js";
import type { DebugAnswer, DebugCommand } from "./command.js";
import { configDump } from "./config-dump.js";
import { controlPlaneIdentifier } from "./control-plane.js";
import { connectionOf } from "./stream-commands.js";

/**
 * The type by which clients ask debug endpoints over xDS; the one name of a resource is a command, such as
 * `config_dump?proxyID=web.shop`, and its bytes are what HTTP would answer.
 */
export const debugType = "istio.io/debug";

const statusPrefix = `${debugType}/`;

export interface DebugOverXdsOptions {
  readonly commands: readonly DebugCommand[];
  readonly server: Pick<XdsServer, "connections">;
  /** Returns the proxy at the other end of a stream, with its verified identity. */
  readonly proxyOf: (connection: Pick<Connection, "node">) => Proxy;
  readonly rootNamespace: () => string;
  readonly env: NodeJS.ProcessEnv;
  readonly version: string;
}

/**
 * Answers debug requests of a client of the xDS server: one whose identity was proven, and that is of the root
 * namespace, or asks for what it may know of proxies of its own. Beside the commands there are `istio.io/debug/syncz`,
 * with a `ClientConfig` for each proxy, and `istio.io/debug/config_dump`, with the messages of Envoy's dump for the
 * proxy that is named: what `istioctl proxy-status` asks for. Source: pilot/pkg/xds/{debuggen,statusgen}.go.
 *
 * Gives undefined for other types.
 *
 * @throws ConnectError `Unauthenticated`, `PermissionDenied` or `InvalidArgument`
 */
export function debugOverXds(options: DebugOverXdsOptions): OnDemandHandler {
  return (node, typeUrl, names) => {
    if (typeUrl === debugType) return command(options, options.proxyOf({ node }), [...names]);
    return typeUrl.startsWith(statusPrefix)
      ? status(options, options.proxyOf({ node }), typeUrl.slice(statusPrefix.length), [...names])
      : undefined;
  };
}

async function command(
  { commands, rootNamespace }: DebugOverXdsOptions,
  { verifiedIdentity }: Proxy,
  names: readonly string[],
): Promise<Answer> {
  if (verifiedIdentity === undefined) throw unauthenticated();
  const [resource] = names;
  if (resource === undefined || names.length !== 1)
    throw new ConnectError("exactly one debug request is required", Code.InvalidArgument);
  const url = new URL(resource, "http://istiod/");
  const name = url.pathname.replace(/^\/+(debug\/)?/, "");
  const confined = verifiedIdentity.namespace !== rootNamespace();
  if (confined && !ofOwnProxies.has(name)) {
    throw new ConnectError(
      `the debug info is not available for current identity: namespace ${verifiedIdentity.namespace}`,
      Code.PermissionDenied,
    );
  }
  const found = commands.find((c) => c.name === name);
  const given: DebugAnswer = (await found?.answer({
    query: url.searchParams,
    namespace: confined ? verifiedIdentity.namespace : undefined,
  })) ?? { status: 404, text: `there is no debug command ${name}\n` };
  return {
    resources: [
      {
        name: resource,
        typeUrl: debugType,
        bytes: Buffer.from("json" in given ? JSON.stringify(given.json) : given.text),
      },
    ],
  };
}

function status(
  { server, rootNamespace, env, version }: DebugOverXdsOptions,
  { verifiedIdentity }: Proxy,
  name: string,
  names: readonly string[],
): Answer {
  const guarded = variables.debugAuthentication.read(env);
  if (guarded && verifiedIdentity === undefined) throw unauthenticated();
  const allowed = [rootNamespace(), ...variables.debugNamespaces.read(env)];
  const own =
    guarded && verifiedIdentity !== undefined && !allowed.includes(verifiedIdentity.namespace)
      ? verifiedIdentity.namespace
      : undefined;
  if (name === "syncz") {
    return {
      resources: clientConfigs(server.connections(), ({ node }) => readProxy(node), own),
      controlPlane: controlPlaneIdentifier(env, version),
    };
  }
  const connection = name === "config_dump" && names.length === 1 ? connectionOf(server, names[0] ?? "") : undefined;
  if (connection === undefined || (own !== undefined && readProxy(connection.node).namespace !== own))
    return { resources: [] };
  return { resources: configDump(connection, messageRegistry(), false).configs.map(message) };
}

/** A message in its JSON form, with its type. */
function message({ "@type": typeUrl, ...fields }: { readonly "@type": string }): Answer["resources"][number] {
  const registry = messageRegistry();
  const schema = registry.getMessage(typeUrl.slice(typeUrl.lastIndexOf("/") + 1));
  if (schema === undefined) throw new ConnectError(`no message ${typeUrl}`, Code.Internal);
  return { name: "", typeUrl, bytes: toBinary(schema, fromJson(schema, fields as JsonObject, { registry })) };
}

function unauthenticated(): ConnectError {
  return new ConnectError("authentication required", Code.Unauthenticated);
}
