import type { JsonObject } from "@bufbuild/protobuf";
import {
  type ClientTLSSettings,
  ClientTLSSettings_TLSmode,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import type { BootstrapInputs } from "./bootstrap-inputs.js";
import { extension, object } from "./json.js";
import { tlsParameters } from "./tls-parameters.js";

/** Builds the SDS configuration of a secret that the agent serves. */
export function sdsSecretConfig(name: string): JsonObject {
  return {
    name,
    sds_config: {
      api_config_source: {
        api_type: "GRPC",
        grpc_services: [{ envoy_grpc: { cluster_name: "sds-grpc" } }],
        set_node_on_first_message_only: true,
        transport_api_version: "V3",
      },
      resource_api_version: "V3",
    },
  };
}

/**
 * Builds the transport socket for a collector; `undefined` if TLS is disabled. Certificate files are served over SDS as
 * `file-cert:<chain>~<key>` and `file-root:<path>`, so that Envoy picks up changes on disk.
 *
 * @param inputs those of the bootstrap; TLS_CLIENT_… entries of the node's metadata override the paths of the settings
 */
export function upstreamTls(
  settings: ClientTLSSettings | undefined,
  sni: string,
  { node: { metadata }, compliancePolicy }: Pick<BootstrapInputs, "node" | "compliancePolicy">,
  http2: boolean,
): JsonObject | undefined {
  if (!settings) return undefined;
  const path = (key: string, fallback: string): string => {
    const given = metadata[key];
    return typeof given === "string" && given !== "" ? given : fallback;
  };
  const mode = settings.mode;
  if (mode === ClientTLSSettings_TLSmode.DISABLE) return undefined;
  const isMeshMutual = mode === ClientTLSSettings_TLSmode.ISTIO_MUTUAL;
  const root = path("TLS_CLIENT_ROOT_CERT", settings.caCertificates);
  const chain = path("TLS_CLIENT_CERT_CHAIN", settings.clientCertificate);
  const key = path("TLS_CLIENT_KEY", settings.privateKey);
  const certificate = isMeshMutual
    ? "default"
    : mode === ClientTLSSettings_TLSmode.MUTUAL && chain !== "" && key !== ""
      ? `file-cert:${chain}~${key}`
      : undefined;
  const names = settings.subjectAltNames.map((exact) => ({ exact }));
  return extension(
    "envoy.transport_sockets.tls",
    "envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
    object({
      common_tls_context: object({
        tls_params: tlsParameters(compliancePolicy),
        tls_certificate_sds_secret_configs: certificate === undefined ? undefined : [sdsSecretConfig(certificate)],
        combined_validation_context: {
          default_validation_context: object({ match_subject_alt_names: names.length > 0 ? names : undefined }),
          validation_context_sds_secret_config: sdsSecretConfig(
            isMeshMutual ? "ROOTCA" : root === "" ? "" : `file-root:${root}`,
          ),
        },
        alpn_protocols: http2 ? (isMeshMutual ? ["istio", "h2"] : ["h2"]) : undefined,
      }),
      sni: settings.sni !== "" ? settings.sni : isMeshMutual ? sni : undefined,
    }),
  );
}
