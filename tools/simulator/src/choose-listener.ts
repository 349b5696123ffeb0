import type { Address } from "@istiod/envoy-api/envoy/config/core/v3/address";
import type { Listener } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import type { WholeCall } from "./call.js";

/**
 * The listener that takes a call: where traffic is redirected, `virtualInbound`; else the one at its address and port,
 * the one at its port on every address, or `virtualOutbound`. Envoy's rule for `use_original_dst`: the address that was
 * meant, else any address.
 */
export function chooseListener(
  listeners: readonly Listener[],
  { callMode, address, port }: WholeCall,
): Listener | undefined {
  const named = (name: string): Listener | undefined => listeners.find((listener) => listener.name === name);
  if (callMode === "inbound") return named("virtualInbound");
  const anyAddress = address.includes(":") ? "::" : "0.0.0.0";
  const at = (wanted: string): Listener | undefined =>
    listeners.find((listener) => addressesOf(listener).some((own) => isAt(own, wanted, port)));
  return at(address) ?? at(anyAddress) ?? named("virtualOutbound");
}

function addressesOf({ address, additionalAddresses }: Listener): readonly (Address | undefined)[] {
  return [address, ...additionalAddresses.map((additional) => additional.address)];
}

function isAt(own: Address | undefined, address: string, port: number): boolean {
  if (own?.address.case !== "socketAddress") return false;
  const { address: bound, portSpecifier, protocol } = own.address.value;
  return protocol === 0 && bound === address && portSpecifier.case === "portValue" && portSpecifier.value === port;
}
