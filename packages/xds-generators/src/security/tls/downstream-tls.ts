import { create } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { DataSourceSchema, type TransportSocket } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { QuicDownstreamTransportSchema } from "@istiod/envoy-api/envoy/extensions/transport_sockets/quic/v3/quic_transport";
import {
  type CertificateValidationContext,
  CertificateValidationContext_TrustChainVerification as TrustChain,
  CertificateValidationContextSchema,
  TlsParameters_TlsProtocol as TlsProtocol,
} from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/common";
import type { SdsSecretConfig } from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/secret";
import {
  type CommonTlsContext,
  CommonTlsContext_CombinedCertificateValidationContextSchema as CombinedSchema,
  CommonTlsContextSchema,
  type DownstreamTlsContext,
  DownstreamTlsContextSchema,
} from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/tls";
import { usableCiphers } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import { MeshConfig_TLSConfig_TLSProtocol as MeshTlsProtocol } from "@istiod/istio-api/mesh/v1alpha1/config";
import { askMetadata, features, mesh, rawMetadata } from "@istiod/push-context";
import { packAny } from "../../envoy/any.js";
import { prefixMatcher } from "../../envoy/string-matcher.js";
import { tlsTransportSocket, transportSocket } from "../../envoy/transport-socket.js";
import { hasIstioExtension } from "../../istio-extensions.js";
import { enforceCompliance } from "./compliance.js";
import { agentSecret, fileSecret, servesRevocationLists, workloadCertificate, workloadRoots } from "./sds-secret.js";

/** The payload of a TLS connection. */
export type TlsPayload = "http" | "tcp" | "http3";

const meshCiphers = [
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "AES256-GCM-SHA384",
  "AES128-GCM-SHA256",
];

/** The transport socket that terminates Istio's mutual TLS. Source: pilot/pkg/security/authn/utils, BuildInboundTLS. */
export const meshTlsSocket = query("meshTlsSocket", (q, payload: TlsPayload): TransportSocket => {
  const settings = mesh(q).meshMTLS;
  const ciphers = usableCiphers(settings?.cipherSuites ?? []);
  const exchanges = payload === "tcp" && features.metadataExchange(q) && hasIstioExtension(q, "metadataExchange");
  const common = create(CommonTlsContextSchema, {
    alpnProtocols: exchanges ? metadataExchangeAlpn(q) : httpAlpn,
    tlsParams: {
      cipherSuites: ciphers.length > 0 ? [...ciphers] : meshCiphers,
      tlsMinimumProtocolVersion: minimumVersion(settings?.minProtocolVersion),
      tlsMaximumProtocolVersion: TlsProtocol.TLSv1_3,
    },
  });
  const trusted = trustDomainsForValidation(q).map((domain) => prefixMatcher(`spiffe://${domain}/`));
  applyFileCredentials(
    q,
    common,
    serverFileCredentials(q),
    create(CertificateValidationContextSchema, { matchSubjectAltNames: trusted }),
  );
  enforceCompliance(q, common);
  return downstreamTlsSocket(
    create(DownstreamTlsContextSchema, { commonTlsContext: common, requireClientCertificate: true }),
  );
});

export const httpAlpn = ["h2", "http/1.1"];
export const http3Alpn = ["h3"];

/** Returns the ALPN protocols of TCP chains. Peers that exchange metadata select the first. */
export function metadataExchangeAlpn(q: QueryContext): string[] {
  return features.disableMxAlpn(q) ? httpAlpn : ["istio-peer-exchange", ...httpAlpn];
}

export function downstreamTlsSocket(context: DownstreamTlsContext): TransportSocket {
  return transportSocket(tlsTransportSocket, anyPack(DownstreamTlsContextSchema, context));
}

export function downstreamQuicSocket(context: DownstreamTlsContext): TransportSocket {
  return transportSocket(
    "envoy.transport_sockets.quic",
    packAny(QuicDownstreamTransportSchema, { downstreamTlsContext: context }),
  );
}

/** Certificate files of the proxy. Empty strings: the workload's own certificate and roots. */
interface FileCredentials {
  readonly certificates: readonly { readonly certificate: string; readonly key: string }[];
  readonly roots: string;
  /** Revocation lists in addition to the roots. Default: none. */
  readonly lists?: string;
}

/** Sets certificates from files or of the workload itself and, with `validation`, the roots that verify peers. */
export function applyFileCredentials(
  q: QueryContext,
  common: CommonTlsContext,
  { certificates, roots, lists = "" }: FileCredentials,
  validation: CertificateValidationContext | undefined,
): void {
  const ownFileServer = q.ask(rawMetadata, "file-credential") === "true";
  const secret = (file: string, own: string): SdsSecretConfig =>
    file === "" ? agentSecret(own) : fileSecret(file, ownFileServer);
  common.tlsCertificateSdsSecretConfigs = certificates.map(({ certificate, key }) =>
    secret(certificate === "" || key === "" ? "" : `file-cert:${certificate}~${key}`, workloadCertificate),
  );
  if (validation === undefined) return;
  // Another server than the agent may serve the workload's own roots.
  const listed = lists !== "" && servesRevocationLists(q) && (roots !== "" || !ownFileServer);
  const suffix = listed ? `~${lists}` : "";
  if (lists !== "" && !listed)
    validation.crl = create(DataSourceSchema, { specifier: { case: "filename", value: lists } });
  common.validationContextType = {
    case: "combinedValidationContext",
    value: create(CombinedSchema, {
      defaultValidationContext: validation,
      validationContextSdsSecretConfig: secret(
        roots === "" ? "" : `file-root:${roots}${suffix}`,
        `${workloadRoots}${suffix}`,
      ),
    }),
  };
}

/** Verifies certificates but accepts chains without a trusted root. */
export const acceptUntrusted = { trustChainVerification: TrustChain.ACCEPT_UNTRUSTED } as const;

function minimumVersion(version: MeshTlsProtocol | undefined): TlsProtocol {
  return version === MeshTlsProtocol.TLSV1_3 ? TlsProtocol.TLSv1_3 : TlsProtocol.TLSv1_2;
}

/**
 * Returns the trust domains whose workloads are accepted: the mesh's own, its aliases, and those of additional roots.
 */
export function trustDomainsForValidation(q: QueryContext): readonly string[] {
  if (features.skipValidateTrustDomain(q)) return [];
  const { trustDomain, trustDomainAliases, caCertificates } = mesh(q);
  const all = [trustDomain, ...trustDomainAliases, ...caCertificates.flatMap(({ trustDomains }) => trustDomains)];
  return [...new Set(all.filter((domain) => domain !== ""))];
}

/** Returns the certificate files in the node metadata for the server side of mutual TLS. */
export function serverFileCredentials(q: QueryContext): FileCredentials {
  const certificate = askMetadata(q, "TLS_SERVER_CERT_CHAIN") ?? "";
  const key = askMetadata(q, "TLS_SERVER_KEY") ?? "";
  return { certificates: [{ certificate, key }], roots: askMetadata(q, "TLS_SERVER_ROOT_CERT") ?? "" };
}
