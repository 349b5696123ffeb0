import {
  type KubernetesGatewayListener,
  kubernetesGateways,
  type ListenerSetObject,
  listenerSetsByGateway,
} from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import { servedClass } from "../classes/gateway-classes.js";
import { isAllowedListenerSet } from "./allowed-listeners.js";
import type { ListenerParent } from "./attachable-listener.js";

/** The reason for which a listener loses to another one of the same Gateway. */
export type ListenerConflict = "ProtocolConflict" | "HostnameConflict";

/**
 * The listeners of a Gateway (`namespace/name`), by `kind/namespace/name/listener` of their owners, that lose to
 * others: listeners of the Gateway come before those of ListenerSets, and those of older ListenerSets before those of
 * others. Source: pilot/pkg/config/kube/gatewaycommon/listener_conflict.go.
 */
const conflictsOfGateway = query(
  "gatewayApiListenerConflicts",
  (q, key: string): Readonly<Record<string, ListenerConflict>> => {
    const gateway = q.read(kubernetesGateways, key);
    if (gateway === undefined || q.call(servedClass, gateway.spec.gatewayClassName)?.supportsListenerSets !== true)
      return {};
    const owners: readonly OwnedListeners[] = [
      { kind: "Gateway", namespace: gateway.namespace, name: gateway.name, listeners: gateway.spec.listeners },
      ...attachedSets(q, key).map(({ namespace, name, spec }) => ({
        kind: "ListenerSet" as const,
        namespace,
        name,
        listeners: spec.listeners.map((listener) => ({ ...listener, port: portOf(listener) ?? 0 })),
      })),
    ];
    const accepted = new Map<number, PortListeners>();
    const conflicts: Record<string, ListenerConflict> = {};
    for (const { listeners, ...owner } of owners)
      for (const listener of listeners) {
        const ofPort = accepted.get(listener.port) ?? new PortListeners();
        accepted.set(listener.port, ofPort);
        const conflict = ofPort.add(listener);
        if (conflict !== undefined) conflicts[listenerKey(owner, listener.name)] = conflict;
      }
    return conflicts;
  },
);

/** The reason for which a listener of a Gateway or ListenerSet loses to another one; undefined if it does not. */
export const listenerConflict = query(
  "gatewayApiListenerConflict",
  (q, { gateway, owner, name }: OwnedListener): ListenerConflict | undefined =>
    q.call(conflictsOfGateway, gateway)[listenerKey(owner, name)],
);

interface OwnedListener {
  /** Key (`namespace/name`) of the Gateway. */
  readonly gateway: string;
  readonly owner: ListenerParent;
  readonly name: string;
}

interface OwnedListeners extends ListenerParent {
  readonly listeners: readonly KubernetesGatewayListener[];
}

const listenerKey = ({ kind, namespace, name }: ListenerParent, listener: string): string =>
  `${kind}/${namespace}/${name}/${listener}`;

/** Returns the port of a listener of a ListenerSet: its own, or that of its protocol; undefined if there is none. */
export function portOf({ port, protocol }: KubernetesGatewayListener): number | undefined {
  if (port !== 0) return port;
  return protocol === "HTTP" ? 80 : protocol === "HTTPS" ? 443 : undefined;
}

/** Returns the ListenerSets that a Gateway allows, the oldest first. */
function attachedSets(q: QueryContext, gateway: string): readonly ListenerSetObject[] {
  return q
    .read(listenerSetsByGateway, gateway)
    .filter(({ namespace }) => q.call(isAllowedListenerSet, { gateway, namespace }))
    .sort(
      (a, b) =>
        a.creationTimestamp - b.creationTimestamp || compare(`${a.namespace}/${a.name}`, `${b.namespace}/${b.name}`),
    );
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Protocols that share a port, if their hostnames differ. */
const httpLike = ["HTTP", "HTTPS", "TLS"];
const layer4 = ["TCP", "UDP"];

/** The accepted listeners of one port: one for each hostname, or one of TCP or UDP, or one of another protocol. */
class PortListeners {
  /** The first listener by what others of the port must not have: a hostname, `layer 4`, or a protocol. */
  readonly #first = new Map<string, { readonly protocol: string; readonly at: number }>();
  #count = 0;

  /** Accepts a listener, or returns its conflict with the first one that it conflicts with. */
  add({ protocol, hostname = "*" }: KubernetesGatewayListener): ListenerConflict | undefined {
    const own = httpLike.includes(protocol)
      ? `host ${hostname}`
      : layer4.includes(protocol)
        ? "layer 4"
        : `protocol ${protocol}`;
    const rivals = [own, ...(httpLike.includes(protocol) ? ["layer 4"] : own === "layer 4" ? ["any host"] : [])];
    const [first] = rivals.flatMap((rival) => this.#first.get(rival) ?? []).sort((a, b) => a.at - b.at);
    if (first !== undefined)
      return own === "layer 4" && layer4.includes(first.protocol)
        ? "ProtocolConflict"
        : first.protocol === protocol
          ? "HostnameConflict"
          : "ProtocolConflict";
    const entry = { protocol, at: this.#count++ };
    this.#first.set(own, entry);
    if (httpLike.includes(protocol) && !this.#first.has("any host")) this.#first.set("any host", entry);
    return undefined;
  }
}
