import type { Exchange } from "../http/exchange.js";
import { StatusError } from "../http/status-error.js";
import type { UserInfo } from "../storage/server-state.js";
import type { Store } from "../storage/store.js";
import { bearerToken, identityOf, type TokenUser, unauthorized } from "./authenticator.js";
import { type Access, authorizeByRoles, type Decision } from "./rbac.js";
import { type ServiceAccountTokens, tokenIssuer, type VerifiedToken } from "./service-account-tokens.js";

export interface AccessControlOptions {
  readonly store: Store;
  /** By token. */
  readonly users: ReadonlyMap<string, TokenUser>;
  readonly serviceAccountTokens: ServiceAccountTokens;
  readonly authorization: "rbac" | "allow-all";
}

/** Authentication and authorization of requests. */
export class AccessControl {
  readonly #options: AccessControlOptions;

  constructor(options: AccessControlOptions) {
    this.#options = options;
  }

  /** Returns the identity of a token that is valid for one of the audiences. */
  verify(token: string, audiences: readonly string[]): VerifiedToken | undefined {
    const user = this.#options.users.get(token);
    if (user === undefined) return this.#options.serviceAccountTokens.verify(token, audiences);
    // Static tokens have no audience: they are for the server itself.
    return audiences.includes(tokenIssuer) ? { user: identityOf(user), audiences: [tokenIssuer] } : undefined;
  }

  /** @throws StatusError 401 */
  authenticate({ request }: Exchange): UserInfo {
    const token = bearerToken(request);
    const verified = token === undefined ? undefined : this.verify(token, [tokenIssuer]);
    if (verified === undefined) throw unauthorized();
    return verified.user;
  }

  decide(user: UserInfo, access: Access): Decision {
    if (this.#options.authorization === "allow-all") return { allowed: true, reason: "" };
    return authorizeByRoles(this.#options.store, user, access);
  }

  /** @throws StatusError 403 */
  authorize(user: UserInfo, exchange: Exchange): void {
    const access = accessOf(exchange);
    if (!this.decide(user, access).allowed) throw forbiddenAccess(user, access);
  }
}

/** Returns the access that a request needs. */
function accessOf(exchange: Exchange): Access {
  const { target, method, path } = exchange;
  if (!target.isResource) return { verb: method.toLowerCase(), path };
  const { group, plural, namespace, name, subresource } = target;
  const isCollection = name === undefined;
  const read = exchange.isWatch ? "watch" : isCollection ? "list" : "get";
  const verbs: Readonly<Record<string, string>> = {
    GET: read,
    POST: "create",
    PUT: "update",
    PATCH: "patch",
    DELETE: isCollection ? "deletecollection" : "delete",
  };
  return {
    verb: verbs[method] ?? method.toLowerCase(),
    group,
    resource: plural,
    ...(plural === "namespaces" && group === "" && name !== undefined ? { namespace: name } : {}),
    ...(namespace !== undefined && { namespace }),
    ...(name !== undefined && { name }),
    ...(subresource !== undefined && { subresource }),
  };
}

function forbiddenAccess({ username }: UserInfo, access: Access): StatusError {
  const { verb, path, group = "", resource = "", subresource, namespace, name } = access;
  if (path !== undefined) {
    return new StatusError(403, "Forbidden", `forbidden: User "${username}" cannot ${verb} path "${path}"`, {});
  }
  const full = subresource === undefined ? resource : `${resource}/${subresource}`;
  const scope = namespace === undefined ? "at the cluster scope" : `in the namespace "${namespace}"`;
  const qualified = group === "" ? resource : `${resource}.${group}`;
  const object = name === undefined ? qualified : `${qualified} "${name}"`;
  const denial = `User "${username}" cannot ${verb} resource "${full}" in API group "${group}" ${scope}`;
  return new StatusError(403, "Forbidden", `${object} is forbidden: ${denial}`, {
    ...(name !== undefined && { name }),
    ...(group !== "" && { group }),
    kind: resource,
  });
}
