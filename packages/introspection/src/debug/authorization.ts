/** The ways to send a debug command. */
export type DebugTransport = "http" | "xds" | "xds status";

/** The caller of a debug command. */
export type DebugCaller =
  /** On this machine. */
  | { readonly kind: "local" }
  | { readonly kind: "unauthenticated" }
  /** The namespace is undefined for identities that are not workloads'. */
  | { readonly kind: "authenticated"; readonly namespace: string | undefined };

/** The result of authorizing a command. */
export type DebugDecision =
  /** `namespace`: the caller may see only the proxies of this namespace; undefined: all proxies. */
  | { readonly allowed: true; readonly namespace: string | undefined }
  | { readonly allowed: false; readonly reason: "unauthenticated" | "namespace" };

interface DebugRules {
  /** Callers that ENABLE_DEBUG_ENDPOINT_AUTH=false allows everything. */
  readonly withoutAuthorization: "nobody" | "authenticated" | "everybody";
  /** Reports whether callers of DEBUG_ENDPOINT_AUTH_ALLOWED_NAMESPACES are allowed what the root namespace is. */
  readonly hasAllowedNamespaces: boolean;
  /** Commands that callers of other namespaces may use for proxies of their own. */
  readonly ownProxyCommands: ReadonlySet<string> | "all";
}

/** Source: `activeNamespaceDebuggers` in pilot/pkg/xds/debuggen.go. */
const ownProxyCommands: ReadonlySet<string> = new Set(["config_dump", "ndsz", "edsz"]);

/**
 * The rules of each transport. Callers of the root namespace are allowed everything on all of them, and callers on this
 * machine too, whom only HTTP can tell apart.
 */
const rules: Readonly<Record<DebugTransport, DebugRules>> = {
  /** `/` and `/debug/<command>`. Source: pilot/pkg/xds/debug.go. */
  http: { withoutAuthorization: "authenticated", hasAllowedNamespaces: true, ownProxyCommands },
  /** `istio.io/debug`. Source: pilot/pkg/xds/debuggen.go. */
  xds: { withoutAuthorization: "nobody", hasAllowedNamespaces: false, ownProxyCommands },
  /** `istio.io/debug/<command>`. Source: pilot/pkg/xds/statusgen.go. */
  "xds status": { withoutAuthorization: "everybody", hasAllowedNamespaces: true, ownProxyCommands: "all" },
};

export interface DebugAuthorizationOptions {
  /** Returns the namespace whose callers may see everything. */
  readonly rootNamespace: () => string;
  /** Requires authorization (`ENABLE_DEBUG_ENDPOINT_AUTH`). */
  readonly isRequired: boolean;
  /** Namespaces whose callers may use the commands of the root namespace (`DEBUG_ENDPOINT_AUTH_ALLOWED_NAMESPACES`). */
  readonly allowedNamespaces: readonly string[];
}

/** Authorizes a caller for a command; the command of the status page is empty. */
export type AuthorizeDebug = (transport: DebugTransport, caller: DebugCaller, command: string) => DebugDecision;

/** Returns the authorization of debug commands and the status page. */
export function debugAuthorization({
  rootNamespace,
  isRequired,
  allowedNamespaces,
}: DebugAuthorizationOptions): AuthorizeDebug {
  return (transport, caller, command) => {
    const { withoutAuthorization, hasAllowedNamespaces, ownProxyCommands: own } = rules[transport];
    const isDisabled = !isRequired;
    if (caller.kind === "local" || (isDisabled && withoutAuthorization === "everybody")) return everything;
    if (caller.kind === "unauthenticated") return { allowed: false, reason: "unauthenticated" };
    if (isDisabled && withoutAuthorization === "authenticated") return everything;
    const { namespace } = caller;
    if (namespace === undefined) return { allowed: false, reason: "namespace" };
    const allowed = [rootNamespace(), ...(hasAllowedNamespaces ? allowedNamespaces : [])];
    if (allowed.includes(namespace)) return everything;
    return own === "all" || own.has(command) ? { allowed: true, namespace } : { allowed: false, reason: "namespace" };
  };
}

const everything: DebugDecision = { allowed: true, namespace: undefined };
