import type { Listener } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import type { FilterChain } from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import {
  EnvoyFilter_ApplyTo as ApplyTo,
  type EnvoyFilter_ListenerMatch as ListenerMatch,
} from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import type { Patch } from "../patch.js";

/** Listeners for captured traffic of all ports. The ports are matched by their filter chains. */
const virtualListeners: readonly string[] = ["virtualInbound", "virtualOutbound"];

function listenerMatchOf({ match }: Patch): ListenerMatch | undefined {
  return match?.objectTypes.case === "listener" ? match.objectTypes.value : undefined;
}

/** Reports whether a patch matches a listener, as far as its name tells. */
export function listenerNameMatches(patch: Patch, name: string): boolean {
  const wanted = listenerMatchOf(patch)?.name ?? "";
  return wanted === "" || wanted === name;
}

/** Reports whether a patch matches a listener. */
export function listenerMatches(patch: Patch, { name, address }: Listener): boolean {
  const match = listenerMatchOf(patch);
  if (match === undefined) return true;
  if (match.name !== "" && match.name !== name) return false;
  if (patch.applyTo !== ApplyTo.LISTENER && virtualListeners.includes(name)) return true;
  if (match.portNumber === 0) return true;
  if (address?.address.case !== "socketAddress") return false;
  const { portSpecifier } = address.address.value;
  return (portSpecifier.case === "portValue" ? portSpecifier.value : 0) === match.portNumber;
}

/** Reports whether a patch matches a filter chain of a listener that it matches. */
export function filterChainMatches(patch: Patch, listener: Listener, chain: FilterChain): boolean {
  const match = listenerMatchOf(patch);
  if (match === undefined) return true;
  const own = chain.filterChainMatch;
  const isVirtual = virtualListeners.includes(listener.name);
  if (isVirtual && match.portNumber > 0 && (own?.destinationPort ?? 0) !== match.portNumber) return false;
  const wanted = match.filterChain;
  if (wanted === undefined) return true;
  return (
    (wanted.name === "" || wanted.name === chain.name) &&
    (wanted.sni === "" || (own?.serverNames ?? []).includes(wanted.sni)) &&
    (wanted.transportProtocol === "" || wanted.transportProtocol === own?.transportProtocol) &&
    (wanted.applicationProtocols === "" ||
      wanted.applicationProtocols.split(",").every((protocol) => own?.applicationProtocols.includes(protocol))) &&
    (wanted.destinationPort === 0 || wanted.destinationPort === own?.destinationPort)
  );
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
