import { create } from "@bufbuild/protobuf";
import {
  type Address,
  AddressSchema,
  SocketAddress_Protocol as Transport,
} from "@istiod/envoy-api/envoy/config/core/v3/address";

/** The prefix of a Unix domain socket's path. */
export const unixPrefix = "unix://";

/** A TCP socket address, or a Unix domain socket if `bind` is `unix://…` or the port is 0. */
export function address(bind: string, port: number): Address {
  if (port === 0) {
    return create(AddressSchema, { address: { case: "pipe", value: { path: unixPath(bind) } } });
  }
  return create(AddressSchema, {
    address: { case: "socketAddress", value: { address: bind, portSpecifier: { case: "portValue", value: port } } },
  });
}

/** A UDP socket address. */
export function udpAddress(bind: string, port: number): Address {
  return create(AddressSchema, {
    address: {
      case: "socketAddress",
      value: { protocol: Transport.UDP, address: bind, portSpecifier: { case: "portValue", value: port } },
    },
  });
}

/** Returns the path of a Unix domain socket without `unix://`. */
export function unixPath(bind: string): string {
  return bind.startsWith(unixPrefix) ? bind.slice(unixPrefix.length) : bind;
}
