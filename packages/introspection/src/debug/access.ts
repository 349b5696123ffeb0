import type { IncomingMessage } from "node:http";
import { crossSiteReason, type Refusal } from "@istiod/admin-server";
import { isLoopback } from "@istiod/peer-address";
import { authenticatePeer, type Authenticator, CaError, identityIn, peerOf } from "@istiod/ca";
import { type AuthorizeDebug, debugAuthorization, type DebugAuthorizationOptions } from "./authorization.js";

export interface DebugAccessOptions extends DebugAuthorizationOptions {
  readonly authenticators: () => readonly Authenticator[];
  /** Host names that callers on this machine may use, beside localhost. Default: none. */
  readonly allowedHosts?: readonly string[];
  /** Trust domain of this mesh. Callers of other trust domains are in no namespace of it. */
  readonly trustDomain: string;
  /** Called for each rejected request, with the authenticated identities of its caller, if any. */
  readonly onRejected?: (
    request: IncomingMessage,
    path: string,
    refusal: Refusal,
    identities: readonly string[] | undefined,
  ) => void;
}

const refusals = {
  unauthenticated: { status: 401, message: "authentication failure" },
  namespace: { status: 403, message: "not for callers of this namespace" },
} as const;

/**
 * The guard of the HTTP ports: rejects requests of other web sites, and authorizes debug commands and the status page.
 * Other paths are open to all callers.
 */
export class DebugAccess {
  readonly #options: DebugAccessOptions;
  readonly #authorize: AuthorizeDebug;
  /** Namespaces of callers that may see only the proxies of their own. */
  readonly #namespaces = new WeakMap<IncomingMessage, string>();

  constructor(options: DebugAccessOptions) {
    this.#options = options;
    this.#authorize = debugAuthorization(options);
  }

  async guard(request: IncomingMessage, path: string): Promise<Refusal | undefined> {
    const crossSite = crossSiteReason(request, this.#options.allowedHosts);
    if (crossSite !== undefined) return this.#reject(request, path, { status: 403, message: crossSite });
    if (!(path === "/" || path.startsWith("/debug")) || isLoopback(request.socket.remoteAddress)) return undefined;
    const identities = await this.#identities(request);
    const decision = this.#authorize(
      "http",
      identities === undefined
        ? { kind: "unauthenticated" }
        : { kind: "authenticated", namespace: identityIn(this.#options.trustDomain, identities)?.namespace },
      path.slice("/debug/".length),
    );
    if (!decision.allowed) return this.#reject(request, path, refusals[decision.reason], identities);
    if (decision.namespace !== undefined) this.#namespaces.set(request, decision.namespace);
    return undefined;
  }

  #reject(request: IncomingMessage, path: string, refusal: Refusal, identities?: readonly string[]): Refusal {
    this.#options.onRejected?.(request, path, refusal, identities);
    return refusal;
  }

  /** Returns the namespace whose proxies the caller of an allowed request may see; undefined: all proxies. */
  namespaceOf(request: IncomingMessage): string | undefined {
    return this.#namespaces.get(request);
  }

  /** Returns the authenticated identities of a caller; undefined if it is not authenticated. */
  async #identities(request: IncomingMessage): Promise<readonly string[] | undefined> {
    try {
      const { identities } = await authenticatePeer(this.#options.authenticators(), peerOf(request));
      return identities;
    } catch (error) {
      if (error instanceof CaError) return undefined;
      throw error;
    }
  }
}
