import type { IncomingMessage } from "node:http";
import { authenticate, type Authenticator, CaError, parseSpiffeUri } from "@istiod/ca";
import type { Refusal } from "../http-server.js";
import { variables } from "../variables.js";

export interface DebugAccessOptions {
  readonly authenticators: () => readonly Authenticator[];
  /** The namespace whose callers see everything. */
  readonly rootNamespace: () => string;
  readonly env: NodeJS.ProcessEnv;
  /** Told of each request that is refused, with the identities that its caller proved, if any. */
  readonly refused?: (
    request: IncomingMessage,
    path: string,
    refusal: Refusal,
    identities: readonly string[] | undefined,
  ) => void;
}

/** Commands that callers of other namespaces may use, about their own proxies (pilot/pkg/xds/debuggen.go). */
export const ofOwnProxies = new Set(["config_dump", "ndsz", "edsz"]);

/**
 * Authorization of debug endpoints and the status page. Callers on this machine may use everything, others if the
 * authenticators of xDS know them. With ENABLE_DEBUG_ENDPOINT_AUTH, which is the default, callers of a namespace that
 * is neither the root's nor in DEBUG_ENDPOINT_AUTH_ALLOWED_NAMESPACES get a few endpoints only, for proxies of theirs.
 */
export class DebugAccess {
  readonly #options: DebugAccessOptions;
  readonly #confined = new WeakMap<IncomingMessage, string>();

  constructor(options: DebugAccessOptions) {
    this.#options = options;
  }

  async guard(request: IncomingMessage, path: string): Promise<Refusal | undefined> {
    if (!(path === "/" || path.startsWith("/debug")) || isLoopback(request.socket.remoteAddress)) return undefined;
    const identities = await this.#identities(request);
    const refusal = this.#refusal(request, path, identities);
    if (refusal !== undefined) this.#options.refused?.(request, path, refusal, identities);
    return refusal;
  }

  #refusal(request: IncomingMessage, path: string, identities: readonly string[] | undefined): Refusal | undefined {
    const { env, rootNamespace } = this.#options;
    if (identities === undefined) return { status: 401, message: "authentication failure" };
    if (!variables.debugAuthentication.read(env)) return undefined;
    const namespace = identities.map(namespaceOf).find((found) => found !== undefined);
    const allowed = new Set([rootNamespace(), ...variables.debugNamespaces.read(env)]);
    if (namespace !== undefined && allowed.has(namespace)) return undefined;
    if (namespace === undefined || !ofOwnProxies.has(path.slice("/debug/".length)))
      return { status: 403, message: "not for callers of this namespace" };
    this.#confined.set(request, namespace);
    return undefined;
  }

  /** The namespace to whose proxies a caller is confined. */
  namespaceOf(request: IncomingMessage): string | undefined {
    return this.#confined.get(request);
  }

  async #identities(request: IncomingMessage): Promise<readonly string[] | undefined> {
    try {
      const header = (name: string): string | undefined => [request.headers[name]].flat()[0];
      return (
        await authenticate(this.#options.authenticators(), {
          encrypted: false,
          header,
          peer: request.socket.remoteAddress ?? "",
        })
      ).identities;
    } catch (error) {
      if (error instanceof CaError) return undefined;
      throw error;
    }
  }
}

function namespaceOf(identity: string): string | undefined {
  try {
    return parseSpiffeUri(identity).namespace;
  } catch {
    return undefined;
  }
}

export function isLoopback(address: string | undefined): boolean {
  return address !== undefined && (/^(::ffff:)?127\./.test(address) || address === "::1");
}
