import { anyUnpack } from "@bufbuild/protobuf/wkt";
import type { TransportSocket } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { DownstreamTlsContextSchema } from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/tls";

/** The name of the certificate that stands for the workload's own identity. */
const workloadCertificate = "default";

/**
 * Whether the end of TLS takes a client: one with an identity of the mesh if it asks for a certificate and shows the
 * workload's own, any other if not. (A client with an identity asks for the server's, so it does not take another
 * certificate.)
 */
export function acceptsClient({ configType }: TransportSocket, client: "tls" | "mtls"): boolean {
  const context =
    configType.case === "typedConfig" ? anyUnpack(configType.value, DownstreamTlsContextSchema) : undefined;
  const [certificate] = context?.commonTlsContext?.tlsCertificateSdsSecretConfigs ?? [];
  const mutual = certificate?.name === workloadCertificate && context?.requireClientCertificate === true;
  return mutual === (client === "mtls");
}
