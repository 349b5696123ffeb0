import { rejectedSidecars, sidecars } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import { MeshConfig_OutboundTrafficPolicy_Mode } from "@istiod/istio-api/mesh/v1alpha1/config";
import {
  CaptureMode,
  type IstioIngressListener,
  OutboundTrafficPolicy_Mode,
  type Sidecar,
} from "@istiod/istio-api/networking/v1alpha3/sidecar";
import type { Destination } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { parseProtocol } from "@istiod/service-discovery";
import { mesh } from "../mesh/mesh-config.js";
import { proxyType } from "../proxy/facts.js";
import { allHosts } from "./egress-hosts.js";
import { clientNamespace, distinguishingNamespace } from "./distinguishing-namespaces.js";
import type { ScopeRef } from "./scope-ref.js";
import { ownSidecar, rootSidecar, selectedRejectedSidecar } from "./selected-sidecar.js";

export type { ScopeRef } from "./scope-ref.js";

/** Returns a memo key of a scope. It is shorter than the canonical form, because scoped queries are called often. */
export function scopeKey({ gateway, sidecar = "", rejectedSidecar, namespace = "" }: ScopeRef): string {
  const key = `${gateway === true ? "gateway" : sidecar} ${namespace}`;
  return rejectedSidecar === undefined ? key : `${key} ${rejectedSidecar}`;
}

/** One egress listener of a scope. */
export interface ScopeListener {
  readonly scope: ScopeRef;
  /** Index among the scope's egress listeners. */
  readonly listener: number;
}

/** Returns a memo key of an egress listener. */
export function listenerKey({ scope, listener }: ScopeListener): string {
  return `${listener} ${scopeKey(scope)}`;
}

/** An egress listener of a Sidecar: the outbound traffic that it captures and the hosts that it imports. */
export interface EgressListener {
  /**
   * Absent for the catch-all listener, which captures all ports that no other egress listener captures and is the last
   * one.
   */
  readonly port?: { readonly number: number; readonly protocol: string; readonly name: string };
  readonly bind: string;
  readonly captureMode: CaptureMode;
  readonly hosts: readonly string[];
  /** True if only services with this port are imported, and only that port of them. False for generic HTTP proxies. */
  readonly matchesPort: boolean;
}

/** Policy for traffic to hosts that the scope does not import. */
export interface OutboundTraffic {
  readonly mode: "REGISTRY_ONLY" | "ALLOW_ANY" | "ALLOW_ANY_DYNAMIC_DNS";
  /** With ALLOW_ANY, the destination to which such traffic is redirected. */
  readonly egressProxy?: Destination;
}

/** Returns the client's scope. */
export function scopeOf(q: QueryContext): ScopeRef {
  return q.call(clientScope);
}

const clientScope = query("scope", (q): ScopeRef => {
  const type = q.ask(proxyType);
  if (type !== "sidecar") {
    return { gateway: true, ...withNamespace(q.ask(distinguishingNamespace, undefined)) };
  }
  const own = q.ask(ownSidecar, undefined);
  const rejectedSidecar = selectedRejectedSidecar(q, own !== undefined);
  const rejected = rejectedSidecar === undefined ? {} : { rejectedSidecar };
  if (own !== undefined) {
    return { ...own, ...rejected };
  }
  const root = q.call(rootSidecar);
  return {
    ...rejected,
    ...(root === undefined ? {} : { sidecar: root.key }),
    ...withNamespace(q.ask(root?.refersToClient === true ? clientNamespace : distinguishingNamespace, undefined)),
  };
});

/** The egress listeners of a scope, in order; at least one. */
export const egressListeners = query(
  "egressListeners",
  (q, scope: ScopeRef): readonly EgressListener[] => {
    const egress = q.call(sidecarSpec, scope)?.egress ?? [];
    if (egress.length === 0) {
      return [{ bind: "", captureMode: CaptureMode.DEFAULT, hosts: allHosts, matchesPort: false }];
    }
    return egress.map(({ port, bind, captureMode, hosts }) => ({
      ...(port === undefined ? {} : { port: { number: port.number, protocol: port.protocol, name: port.name } }),
      bind,
      captureMode,
      hosts,
      matchesPort: port !== undefined && port.number !== 0 && parseProtocol(port.protocol) !== "HTTP_PROXY",
    }));
  },
  { key: sidecarKey },
);

/** The ingress listeners of a scope's Sidecar. */
export const ingressListeners = query(
  "ingressListeners",
  (q, scope: ScopeRef): readonly IstioIngressListener[] => q.call(sidecarSpec, scope)?.ingress ?? [],
  { key: sidecarKey },
);

/**
 * The outbound traffic policy of a scope: REGISTRY_ONLY if a rejected Sidecar without a good version selects the
 * client, else that of its Sidecar, else of the mesh.
 */
export const outboundTraffic = query(
  "outboundTraffic",
  (q, scope: ScopeRef): OutboundTraffic => {
    if (scope.rejectedSidecar !== undefined && q.read(rejectedSidecars, scope.rejectedSidecar) !== undefined)
      return { mode: "REGISTRY_ONLY" };
    const declared = q.call(sidecarSpec, scope)?.outboundTrafficPolicy;
    if (declared !== undefined) {
      return {
        mode: sidecarModes[declared.mode],
        ...(declared.egressProxy === undefined ? {} : { egressProxy: declared.egressProxy }),
      };
    }
    const meshPolicy = mesh(q).outboundTrafficPolicy;
    return { mode: meshPolicy === undefined ? "REGISTRY_ONLY" : meshModes[meshPolicy.mode] };
  },
  { key: ({ sidecar = "", rejectedSidecar = "" }) => `${sidecar} ${rejectedSidecar}` },
);

/** The Sidecar of a scope. */
export const sidecarSpec = query(
  "sidecarSpec",
  (q, { sidecar }: ScopeRef): Sidecar | undefined =>
    sidecar === undefined ? undefined : q.read(sidecars, sidecar)?.spec,
  { key: sidecarKey },
);

/** Memo key of queries that read only the scope's Sidecar. */
function sidecarKey({ sidecar = "" }: ScopeRef): string {
  return sidecar;
}

const sidecarModes: Readonly<Record<OutboundTrafficPolicy_Mode, OutboundTraffic["mode"]>> = {
  [OutboundTrafficPolicy_Mode.REGISTRY_ONLY]: "REGISTRY_ONLY",
  [OutboundTrafficPolicy_Mode.ALLOW_ANY]: "ALLOW_ANY",
};

const meshModes: Readonly<Record<MeshConfig_OutboundTrafficPolicy_Mode, OutboundTraffic["mode"]>> = {
  [MeshConfig_OutboundTrafficPolicy_Mode.REGISTRY_ONLY]: "REGISTRY_ONLY",
  [MeshConfig_OutboundTrafficPolicy_Mode.ALLOW_ANY]: "ALLOW_ANY",
  [MeshConfig_OutboundTrafficPolicy_Mode.ALLOW_ANY_DYNAMIC_DNS]: "ALLOW_ANY_DYNAMIC_DNS",
};

function withNamespace(namespace: string | undefined): Pick<ScopeRef, "namespace"> {
  return namespace === undefined ? {} : { namespace };
}
