import { anyUnpack } from "@bufbuild/protobuf/wkt";
import type { TransportSocket } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { DownstreamTlsContextSchema } from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/tls";

/** The name of the certificate that stands for the workload's own identity. */
const workloadCertificate = "default";

/**
 * Reports whether the TLS server accepts a client. A client with a mesh identity needs a server that requests a client
 * certificate and presents the workload's own, since the client verifies its identity. Other clients are accepted in
 * all other cases.
 */
export function acceptsClient({ configType }: TransportSocket, client: "tls" | "mtls"): boolean {
  const context =
    configType.case === "typedConfig" ? anyUnpack(configType.value, DownstreamTlsContextSchema) : undefined;
  const [certificate] = context?.commonTlsContext?.tlsCertificateSdsSecretConfigs ?? [];
  const mutual = certificate?.name === workloadCertificate && context?.requireClientCertificate === true;
  return mutual === (client === "mtls");
}
