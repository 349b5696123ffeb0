import { query, type View } from "@istiod/incremental";
import { type Proxy, scopeOf } from "@istiod/push-context";
import { keyOfId, service } from "@istiod/service-discovery";
import {
  type ChainSource,
  deniedPolicies,
  gatewayListenerConflicts,
  ingressConflicts,
  type ListenerConflict,
  outboundListenerConflicts,
} from "@istiod/xds-generators";
import { declarationOfRoutes, declarationOfServer, type DeclaredField } from "./declared-objects.js";
import { ignoredConfig, type IgnoredConfig, objectReference } from "./ignored-config.js";

/**
 * Returns services, TCP and TLS routes, and egress ports whose filter chains conflict with others of a listener, and
 * policies in whose place it denies everything.
 */
export function conflictsOfListener(view: View<Proxy>, listener: string): readonly IgnoredConfig[] {
  const isGateway = view.client.type === "router";
  const conflicts = isGateway
    ? view.call(gatewayListenerConflicts, listener)
    : view.call(sidecarListenerConflicts, listener);
  const denied = isGateway || listener === virtualInbound ? view.call(deniedPolicies) : [];
  return [...conflicts, ...denied].map((conflict) => ignoredAtListener(view, conflict));
}

/** The listener whose chains have the policies of a sidecar. */
const virtualInbound = "virtualInbound";

/** Describes a source that is ignored at a listener. */
export function ignoredAtListener(
  view: View<Proxy>,
  { ignored, existing, reason }: ListenerConflict,
): IgnoredConfig & { readonly field: string } {
  const { kind, key, field } = describe(view, ignored);
  if (existing === undefined) return { ...ignoredConfig(kind, key, `${field} is left out: ${reason}`), field };
  const overriding = describe(view, existing);
  const sentence = `${field} is overridden by ${overriding.kind} ${overriding.key} ${overriding.field}: ${reason}`;
  const overriddenBy = { ...objectReference(overriding.kind, overriding.key), field: overriding.field };
  return { ...ignoredConfig(kind, key, sentence, { overriddenBy }), field };
}

const sidecarListenerConflicts = query(
  "explain.sidecarListenerConflicts",
  (q, listener: string): readonly ListenerConflict[] => {
    const separator = listener.lastIndexOf("_");
    const [bind, port] = [listener.slice(0, separator), Number(listener.slice(separator + 1))];
    if (separator < 0 || !Number.isInteger(port)) return [];
    const outbound = q.call(outboundListenerConflicts, { scope: scopeOf(q), port });
    return [...outbound, ...q.call(ingressConflicts, port)].filter((conflict) => conflict.bind === bind);
  },
);

function withKey({ kind, namespace, name, field }: DeclaredField): ReturnType<typeof describe> {
  return { kind, key: `${namespace}/${name}`, field };
}

function describe(
  view: View<Proxy>,
  source: ChainSource,
): { readonly kind: string; readonly key: string; readonly field: string } {
  switch (source.kind) {
    case "route":
      return withKey(declarationOfRoutes(view, source.virtualService, source.field));
    case "subset":
      return { kind: "DestinationRule", key: source.rule, field: `spec.subsets[${source.index}]` };
    case "policy":
      return { kind: source.object, key: source.policy, field: "spec" };
    case "server":
      return withKey(declarationOfServer(view, source.gateway, source.index));
    case "egress":
    case "ingress":
      return { kind: "Sidecar", key: source.sidecar, field: `spec.${source.kind}[${source.listener}]` };
    case "service": {
      const found = view.call(service, source.id);
      const kind = found?.registry === "External" ? "ServiceEntry" : "Service";
      const port = found?.ports.findIndex(({ number }) => number === source.port) ?? 0;
      return {
        kind,
        key: found === undefined ? keyOfId(source.id) : `${found.namespace}/${found.objectName}`,
        field: `spec.ports[${port}]`,
      };
    }
  }
}
