import type { IncomingMessage, ServerResponse } from "node:http";
import type { AccessControl } from "../auth/access-control.js";
import { type ReviewRoutes, serveReviews } from "../auth/reviews.js";
import { serveDiscovery } from "../discovery/discovery-routes.js";
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

/** Returns the log of a container with the parameters of the request. */
export type PodLog = (
  place: { readonly namespace: string; readonly pod: string; readonly container: string },
  query: URLSearchParams,
) => string;

export interface HandlerOptions extends ResourceRoutes, ReviewRoutes {
  readonly access: AccessControl;
  /** Receives every request. */
  readonly requests: LoggedRequest[];
  readonly podLog: PodLog | undefined;
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
  const { types } = options.state;
  if (isHealth(exchange.path)) return exchange.sendText(200, "text/plain; charset=utf-8", "ok");
  exchange.user = options.access.authenticate(exchange);
  options.access.authorize(exchange.user, exchange);
  if (!exchange.target.isResource) {
    const isServed = (await serveDiscovery(types, exchange)) || (await serveIssuer(options, exchange));
    return isServed ? undefined : notFoundPage(exchange);
  }
  if (await serveReviews(options, exchange)) return;
  const { group, version, plural, namespace, name, subresource } = exchange.target;
  if (options.podLog && plural === "pods" && subresource === "log" && namespace !== undefined && name !== undefined) {
    const container = exchange.query.get("container") ?? "";
    const text = options.podLog({ namespace, pod: name, container }, exchange.query);
    return exchange.sendText(200, "text/plain", text);
  }
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

/** Answers without authentication, as the kubelet's probes need it. */
const isHealth = (path: string): boolean => /^\/(readyz|livez|healthz)(\/|$)/.test(path);

async function serveIssuer({ serviceAccountTokens }: HandlerOptions, exchange: Exchange): Promise<boolean> {
  const { path, request } = exchange;
  if (path === "/openid/v1/jwks") {
    await exchange.sendText(200, "application/jwk-set+json", JSON.stringify(serviceAccountTokens.keys()));
  } else if (path === "/.well-known/openid-configuration") {
    await exchange.send(200, serviceAccountTokens.discovery(`http://${request.headers.host ?? ""}`));
  } else return false;
  return true;
}
