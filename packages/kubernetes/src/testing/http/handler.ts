import type { IncomingMessage, ServerResponse } from "node:http";
import { identityOf, type TokenUser, unauthorized } from "../auth/authenticator.js";
import { serveDiscovery } from "../discovery/discovery-routes.js";
import type { UserInfo } from "../storage/server-state.js";
import { Exchange } from "./exchange.js";
import { type ResourceRoutes, serveResource } from "./resource-routes.js";

/** A request that the server received. */
export interface LoggedRequest {
  readonly method: string;
  /** Path without the query. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly isWatch: boolean;
}

export interface HandlerOptions extends ResourceRoutes {
  /** By token. */
  readonly users: ReadonlyMap<string, TokenUser>;
  /** Receives every request. */
  readonly requests: LoggedRequest[];
}

/** Returns the listener of an HTTP server that serves the API. */
export function createHandler(options: HandlerOptions): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    const exchange = new Exchange(request, response);
    const { method, path, query, isWatch } = exchange;
    const { authorization: _, ...headers } = request.headers;
    options.requests.push({ method, path, query: Object.fromEntries(query), headers, isWatch });
    void serve(options, exchange).catch((error: unknown) => exchange.sendError(error));
  };
}

async function serve(options: HandlerOptions, exchange: Exchange): Promise<void> {
  await options.faults.admit(exchange);
  exchange.user = authenticate(options, exchange);
  const { types } = options.state;
  if (!exchange.target.isResource) {
    if (await serveDiscovery(types, exchange)) return;
    return notFoundPage(exchange);
  }
  const { group, version, plural, namespace, name, subresource } = exchange.target;
  const found = types.find(group, version, plural);
  if (found === undefined || (namespace !== undefined && !found.type.namespaced)) return notFoundPage(exchange);
  const needsNamespace = name !== undefined && found.type.namespaced && namespace === undefined;
  if (needsNamespace || !hasSubresource(found.version.hasStatus, plural, subresource)) return notFoundPage(exchange);
  const target = {
    ...found,
    ...(namespace !== undefined && { namespace }),
    ...(name !== undefined && { name }),
    ...(subresource !== undefined && { subresource }),
  };
  await serveResource(options, target, exchange);
}

const hasSubresource = (hasStatus: boolean, plural: string, subresource: string | undefined): boolean =>
  subresource === undefined ||
  (subresource === "status" && hasStatus) ||
  (subresource === "approval" && plural === "certificatesigningrequests");

const notFoundPage = (exchange: Exchange): Promise<void> =>
  exchange.sendText(404, "text/plain; charset=utf-8", "404 page not found\n");

function authenticate({ users }: HandlerOptions, { request }: Exchange): UserInfo {
  const [, token = ""] = /^Bearer\s+(\S+)$/i.exec(request.headers.authorization ?? "") ?? [];
  const user = users.get(token);
  if (user === undefined) throw unauthorized();
  return identityOf(user);
}
