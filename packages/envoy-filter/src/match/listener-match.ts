import type { Listener } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import type { FilterChain } from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import {
  EnvoyFilter_ApplyTo as ApplyTo,
  type EnvoyFilter_ListenerMatch as ListenerMatch,
} from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import type { Patch } from "../patch.js";

/** The fields of a listener that patches match. */
export type ListenerIdentity = Pick<Listener, "name" | "address">;

/** The fields of a filter chain that patches match. */
export type ChainIdentity = Pick<FilterChain, "name" | "filterChainMatch">;

/** Listeners for captured traffic of all ports. The ports are matched by their filter chains. */
const virtualListeners: readonly string[] = ["virtualInbound", "virtualOutbound"];

/** Reports whether a listener is for captured traffic of all ports. */
export function isVirtualListener({ name }: Pick<Listener, "name">): boolean {
  return virtualListeners.includes(name);
}

function listenerMatchOf({ match }: Patch): ListenerMatch | undefined {
  return match?.objectTypes.case === "listener" ? match.objectTypes.value : undefined;
}

/** Reports whether a patch matches a listener, as far as its name tells. */
export function listenerNameMatches(patch: Patch, name: string): boolean {
  const wanted = listenerMatchOf(patch)?.name ?? "";
  return wanted === "" || wanted === name;
}

/** Reports whether a patch matches a listener. */
export function listenerMatches(patch: Patch, listener: ListenerIdentity): boolean {
  const match = listenerMatchOf(patch);
  if (match === undefined) return true;
  if (match.name !== "" && match.name !== listener.name) return false;
  if (patch.applyTo !== ApplyTo.LISTENER && isVirtualListener(listener)) return true;
  return match.portNumber === 0 || match.portNumber === portOf(listener);
}

function portOf({ address }: ListenerIdentity): number | undefined {
  if (address?.address.case !== "socketAddress") return undefined;
  const { portSpecifier } = address.address.value;
  return portSpecifier.case === "portValue" ? portSpecifier.value : 0;
}

/** Reports whether a patch matches a filter chain of a listener that it matches. */
export function filterChainMatches(patch: Patch, listener: ListenerIdentity, chain: ChainIdentity): boolean {
  const match = listenerMatchOf(patch);
  if (match === undefined) return true;
  const destinationPort = (): number => chain.filterChainMatch?.destinationPort ?? 0;
  if (isVirtualListener(listener) && match.portNumber > 0 && destinationPort() !== match.portNumber) return false;
  const wanted = match.filterChain;
  return (
    wanted === undefined ||
    ((wanted.name === "" || wanted.name === chain.name) &&
      (wanted.sni === "" || (chain.filterChainMatch?.serverNames ?? []).includes(wanted.sni)) &&
      (wanted.transportProtocol === "" || wanted.transportProtocol === chain.filterChainMatch?.transportProtocol) &&
      (wanted.applicationProtocols === "" || hasProtocols(chain, wanted.applicationProtocols.split(","))) &&
      (wanted.destinationPort === 0 || wanted.destinationPort === destinationPort()))
  );
}

/** Reports whether a patch that matches a listener may match some of its filter chains only. */
export function matchesByChain(patch: Patch, listener: ListenerIdentity): boolean {
  const { portNumber = 0, filterChain } = listenerMatchOf(patch) ?? {};
  if (isVirtualListener(listener) && portNumber > 0) return true;
  const {
    name = "",
    sni = "",
    transportProtocol = "",
    applicationProtocols = "",
    destinationPort = 0,
  } = filterChain ?? {};
  return [name, sni, transportProtocol, applicationProtocols].some((wanted) => wanted !== "") || destinationPort !== 0;
}

function hasProtocols({ filterChainMatch: match }: ChainIdentity, protocols: readonly string[]): boolean {
  return protocols.every((protocol) => match?.applicationProtocols.includes(protocol));
}

/** Returns the name of the listener filter that a patch matches; undefined if it names none. */
export function listenerFilterOf(patch: Patch): string | undefined {
  return listenerMatchOf(patch)?.listenerFilter || undefined;
}

/** Returns the name of the network filter that a patch matches; undefined if it names none. */
export function networkFilterOf(patch: Patch): string | undefined {
  return listenerMatchOf(patch)?.filterChain?.filter?.name;
}

/** Returns the name of the HTTP filter that a patch matches; undefined if it names none. */
export function httpFilterOf(patch: Patch): string | undefined {
  return listenerMatchOf(patch)?.filterChain?.filter?.subFilter?.name;
}
