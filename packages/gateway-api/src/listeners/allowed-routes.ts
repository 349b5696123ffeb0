import type { AllowedRoutes, KubernetesGatewayListener } from "@istiod/config-schema";
import type { QueryContext } from "@istiod/incremental";
import { selectedNamespaces } from "../references/namespaces.js";
import type { RouteKind } from "./attachable-listener.js";
import { gatewayApiGroup } from "../names.js";

/** The kinds of routes that a listener accepts, of those that it names. */
export interface SupportedKinds {
  readonly kinds: readonly RouteKind[];
  /** Reports whether the listener names a kind that its protocol does not support. */
  readonly namesOthers: boolean;
}

/** Returns the kinds of routes that a listener accepts: those of its protocol, or of these the ones that it names. */
export function supportedKinds({ protocol, tls, allowedRoutes }: KubernetesGatewayListener): SupportedKinds {
  const ofProtocol = kindsOfProtocol(protocol, tls?.mode).map((kind) => ({ group: gatewayApiGroup, kind }));
  const named = allowedRoutes?.kinds ?? [];
  if (named.length === 0) return { kinds: ofProtocol, namesOthers: false };
  const kinds = ofProtocol.filter(({ kind }) =>
    named.some((each) => each.group === gatewayApiGroup && each.kind === kind),
  );
  return { kinds, namesOthers: kinds.length !== named.length };
}

function kindsOfProtocol(protocol: string, tlsMode: string | undefined): readonly string[] {
  if (protocol === "HTTP" || protocol === "HTTPS") return ["HTTPRoute", "GRPCRoute"];
  if (protocol === "TCP") return ["TCPRoute"];
  if (protocol !== "TLS") return [];
  return tlsMode === "Terminate" ? ["TLSRoute", "TCPRoute"] : ["TLSRoute"];
}

/**
 * Returns the hosts of a listener's server: `namespace/host` for each namespace whose routes may attach, `*` for all,
 * and `~` for none.
 */
export function hostsOf(
  q: QueryContext,
  { hostname = "*", allowedRoutes }: KubernetesGatewayListener,
  namespace: string,
): readonly string[] {
  const allowed = allowedNamespaces(q, allowedRoutes, namespace);
  return allowed.length === 0 ? [`~/${hostname}`] : allowed.map((each) => `${each}/${hostname}`);
}

function allowedNamespaces(q: QueryContext, routes: AllowedRoutes | undefined, namespace: string): readonly string[] {
  const { from = "Same", selector } = routes?.namespaces ?? {};
  if (from === "Same") return [namespace];
  if (from === "All") return ["*"];
  return from === "Selector" && selector !== undefined ? q.call(selectedNamespaces, selector) : [];
}
