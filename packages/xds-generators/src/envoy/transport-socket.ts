import { create } from "@bufbuild/protobuf";
import type { Any } from "@bufbuild/protobuf/wkt";
import { type TransportSocket, TransportSocketSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { RawBufferSchema } from "@istiod/envoy-api/envoy/extensions/transport_sockets/raw_buffer/v3/raw_buffer";
import { packAny } from "./any.js";

export const tlsTransportSocket = "envoy.transport_sockets.tls";
const rawBufferTransportSocket = "envoy.transport_sockets.raw_buffer";

export function transportSocket(name: string, typedConfig: Any): TransportSocket {
  return create(TransportSocketSchema, { name, configType: { case: "typedConfig", value: typedConfig } });
}

/** A plaintext transport socket. */
export function rawBuffer(name = rawBufferTransportSocket): TransportSocket {
  return transportSocket(name, packAny(RawBufferSchema));
}
