import type { Address } from "@istiod/envoy-api/envoy/config/core/v3/address";

/** Formats the address of an endpoint. The port is separate, and 0 if there is none. */
export function endpointAddress(address: Address | undefined): { readonly host: string; readonly port: number } {
  const specifier = address?.address;
  switch (specifier?.case) {
    case "socketAddress": {
      const { address: host, portSpecifier } = specifier.value;
      return { host, port: portSpecifier.case === "portValue" ? portSpecifier.value : 0 };
    }
    case "pipe":
      return { host: specifier.value.path, port: 0 };
    case "envoyInternalAddress":
      return {
        host: `envoy://${specifier.value.addressNameSpecifier.value ?? ""}/${specifier.value.endpointId}`,
        port: 0,
      };
    default:
      return { host: "unknown", port: 0 };
  }
}

/** Formats an address with its port, if it has one. */
export function formatAddress(address: Address | undefined): string {
  const { host, port } = endpointAddress(address);
  return port === 0 ? host : `${host}:${port}`;
}
