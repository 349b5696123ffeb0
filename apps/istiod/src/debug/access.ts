import type { IncomingMessage } from "node:http";
import {
  authenticate,
  type Authenticator,
  CaError,
  credentialsOf,
  isLoopback,
  peerOf,
  spiffeIdentities,
} from "@istiod/ca";
import type { Refusal } from "../http-server.js";
import { type AuthorizeDebug, debugAuthorization, type DebugAuthorizationOptions } from "./authorization.js";

export interface DebugAccessOptions extends DebugAuthorizationOptions {
  readonly authenticators: () => readonly Authenticator[];
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

/** The guard of debug commands and the status page over HTTP. Other paths are open. */
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
    if (!(path === "/" || path.startsWith("/debug")) || isLoopback(request.socket.remoteAddress)) return undefined;
    const identities = await this.#identities(request);
    const decision = this.#authorize(
      "http",
      identities === undefined
        ? { kind: "unauthenticated" }
        : { kind: "authenticated", namespace: spiffeIdentities(identities)[0]?.namespace },
      path.slice("/debug/".length),
    );
    if (!decision.allowed) {
      const refusal = refusals[decision.reason];
      this.#options.onRejected?.(request, path, refusal, identities);
      return refusal;
    }
    if (decision.namespace !== undefined) this.#namespaces.set(request, decision.namespace);
    return undefined;
  }

  /** Returns the namespace whose proxies the caller of an allowed request may see; undefined: all proxies. */
  namespaceOf(request: IncomingMessage): string | undefined {
    return this.#namespaces.get(request);
  }

  /** Returns the authenticated identities of a caller; undefined if it is not authenticated. */
  async #identities(request: IncomingMessage): Promise<readonly string[] | undefined> {
    try {
      const { identities } = await authenticate(this.#options.authenticators(), credentialsOf(peerOf(request)));
      return identities;
    } catch (error) {
      if (error instanceof CaError) return undefined;
      throw error;
    }
  }
}
