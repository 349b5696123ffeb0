import { Code, ConnectError } from "@connectrpc/connect";
import { messageRegistry } from "@istiod/explain";
import type { Proxy } from "@istiod/push-context";
import { FairQueue } from "@istiod/runtime";
import type { Answer, Connection, OnDemandHandler, XdsServer } from "@istiod/xds-server";
import {
  type AuthorizeDebug,
  debugAuthorization,
  type DebugAuthorizationOptions,
  type DebugCaller,
  type DebugDecision,
} from "./authorization.js";
import { clientConfigs } from "./client-configs.js";
import type { DebugCommand } from "./command.js";
import { configDumpMessages } from "./config-dump.js";
import { type ControlPlaneInstance, controlPlaneIdentifier } from "./control-plane.js";
import { connectionOf, notConnected } from "./proxy-commands.js";

/**
 * Type URL of debug commands over xDS. The one resource name of a request is the command, such as
 * `config_dump?proxyID=web.shop`, and the bytes of the response are those of the HTTP response.
 */
export const debugType = "istio.io/debug";

const statusPrefix = `${debugType}/`;
const never = new AbortController().signal;

export interface DebugOverXdsOptions extends DebugAuthorizationOptions {
  readonly commands: readonly DebugCommand[];
  readonly server: Pick<XdsServer, "connections">;
  /** Returns the proxy at the other end of a stream, with its verified identity. */
  readonly proxyOf: (connection: Pick<Connection, "node">) => Proxy;
  readonly instance: ControlPlaneInstance;
}

/**
 * Returns the handler of debug requests over xDS: the commands as `istio.io/debug`, and what `istioctl proxy-status`
 * requests: `istio.io/debug/syncz`, a `ClientConfig` for each proxy, and `istio.io/debug/config_dump`, the messages of
 * Envoy's dump for the named proxy. Source: pilot/pkg/xds/{debuggen,statusgen}.go.
 *
 * Answers are built one after the other, while the unread ones leave room; the namespaces of callers take turns.
 *
 * It throws ConnectError `Unauthenticated`, `PermissionDenied` or `InvalidArgument`.
 */
export function debugOverXds(options: DebugOverXdsOptions): OnDemandHandler {
  const authorize = debugAuthorization(options);
  const queue = new FairQueue();
  return (node, typeUrl, names, untilRoom) => {
    if (typeUrl !== debugType && !typeUrl.startsWith(statusPrefix)) return undefined;
    const caller = callerOf(options.proxyOf({ node }));
    const asked = [...names];
    const group = (caller.kind === "authenticated" ? caller.namespace : undefined) ?? "";
    const answer = async (): Promise<Answer> => {
      const build = prepareAnswer(options, authorize, caller, typeUrl, asked);
      return queue.run(group, never, async () => {
        await untilRoom();
        return build();
      });
    };
    return answer();
  };
}

/** Returns the function that builds an answer. @throws ConnectError if the caller may not see it */
function prepareAnswer(
  options: DebugOverXdsOptions,
  authorize: AuthorizeDebug,
  caller: DebugCaller,
  typeUrl: string,
  names: readonly string[],
): () => Answer | Promise<Answer> {
  if (typeUrl === debugType) return command(options, authorize, caller, names);
  const name = typeUrl.slice(statusPrefix.length);
  const namespace = permitted(authorize("xds status", caller, name));
  return () => status(options, namespace, name, names);
}

function callerOf({ verifiedIdentity }: Proxy): DebugCaller {
  return verifiedIdentity === undefined
    ? { kind: "unauthenticated" }
    : { kind: "authenticated", namespace: verifiedIdentity.namespace };
}

/** Returns the namespace that a caller is confined to. @throws ConnectError if the caller is not allowed */
function permitted(decision: DebugDecision, namespace = ""): string | undefined {
  if (decision.allowed) return decision.namespace;
  if (decision.reason === "unauthenticated") throw new ConnectError("authentication required", Code.Unauthenticated);
  throw new ConnectError(
    `the debug info is not available for current identity: namespace ${namespace}`,
    Code.PermissionDenied,
  );
}

function command(
  { commands }: DebugOverXdsOptions,
  authorize: AuthorizeDebug,
  caller: DebugCaller,
  names: readonly string[],
): () => Promise<Answer> {
  const [resource = ""] = names;
  const served = commands.filter(({ asksReplicas }) => asksReplicas !== true);
  const url = new URL(`http://istiod/${resource.replace(/^\/*(debug\/)?/, "")}`);
  const name = url.pathname.slice(1);
  if (caller.kind === "authenticated" && names.length !== 1)
    throw new ConnectError("exactly one debug request is required", Code.InvalidArgument);
  const namespace = permitted(
    authorize("xds", caller, name),
    caller.kind === "authenticated" ? caller.namespace : undefined,
  );
  return async () => {
    const answer = (await served
      .find((each) => each.name === name)
      ?.answer({ query: url.searchParams, namespace })) ?? {
      text: `there is no debug command ${name}\n`,
    };
    const bytes = Buffer.from("json" in answer ? JSON.stringify(answer.json) : answer.text);
    return { resources: [{ name: resource, typeUrl: debugType, bytes }] };
  };
}

/**
 * Says that a proxy is not connected to this replica as one resource with the text of HTTP: `istioctl proxy-status POD`
 * asks the next replica only then, and otherwise takes an empty answer for the proxy's. Source:
 * istioctl/pkg/multixds/gather.go.
 */
function notConnectedAnswer(name: string): Answer {
  return { resources: [{ name, typeUrl: debugType, bytes: Buffer.from(`${notConnected}\n`) }] };
}

/** @param namespace of the proxies that the caller may see; undefined: all */
function status(
  { server, proxyOf, instance }: DebugOverXdsOptions,
  namespace: string | undefined,
  name: string,
  names: readonly string[],
): Answer | Promise<Answer> {
  if (name === "syncz") {
    return {
      resources: clientConfigs(server.connections(), proxyOf, namespace),
      controlPlane: controlPlaneIdentifier(instance),
    };
  }
  const [proxy = ""] = names;
  if (name !== "config_dump" || names.length !== 1) return { resources: [] };
  const connection = connectionOf(server, proxy);
  if (connection === undefined || (namespace !== undefined && proxyOf(connection).namespace !== namespace))
    return notConnectedAnswer(proxy);
  return configDumpMessages(connection, messageRegistry()).then((resources) => ({ resources }));
}
