import { create } from "@bufbuild/protobuf";
import { isCipherSuite, usableCiphers, usableCurves } from "@istiod/config-schema";
import {
  CertificateValidationContextSchema,
  type TlsParameters,
  TlsParameters_TlsProtocol as TlsProtocol,
  TlsParametersSchema,
} from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/common";
import type { SdsSecretConfig } from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/secret";
import {
  type CommonTlsContext,
  CommonTlsContext_CombinedCertificateValidationContextSchema as CombinedSchema,
  CommonTlsContextSchema,
  type DownstreamTlsContext,
  DownstreamTlsContextSchema,
} from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/tls";
import type { QueryContext } from "@istiod/incremental";
import { MeshConfig_TLSConfig_TLSProtocol as MeshTlsProtocol } from "@istiod/istio-api/mesh/v1alpha1/config";
import {
  type ServerTLSSettings,
  ServerTLSSettings_TLSmode as Mode,
  ServerTLSSettings_TLSProtocol as ServerTlsProtocol,
} from "@istiod/istio-api/networking/v1alpha3/gateway";
import { mesh, providerAddress, rawMetadata, serverRootsCredentialName } from "@istiod/push-context";
import { exactMatcher } from "../../envoy/string-matcher.js";
import { outboundClusterName, rootCertificatesSuffix } from "../../resource-names.js";
import { enforceCompliance } from "./compliance.js";
import {
  acceptUntrusted,
  applyFileCredentials,
  http3Alpn,
  httpAlpn,
  metadataExchangeAlpn,
  serverFileCredentials,
  type TlsPayload,
} from "./downstream-tls.js";
import { credentialSecret, externalSecret, externalSecretPrefix, invalidSecret } from "./sds-secret.js";

/**
 * Returns the TLS context of a server of a Gateway or of a Sidecar's ingress listener. Not for passthrough.
 * Source: pilot/pkg/networking/core/listener.go, BuildListenerTLSContext.
 */
export function serverTlsContext(
  q: QueryContext,
  settings: ServerTLSSettings,
  payload: TlsPayload,
): DownstreamTlsContext {
  const { mode } = settings;
  const common = create(CommonTlsContextSchema, { alpnProtocols: [...alpnOf(q, settings, payload)] });
  // Envoy's QUIC does not support client certificates.
  const required = payload !== "http3" && (mode === Mode.MUTUAL || mode === Mode.ISTIO_MUTUAL);
  const validates = required || mode === Mode.OPTIONAL_MUTUAL;
  if (mode === Mode.ISTIO_MUTUAL) {
    applyFileCredentials(
      q,
      common,
      { ...serverFileCredentials(q), lists: settings.caCrl },
      validates ? fileValidation(settings) : undefined,
    );
  } else if (settings.credentialNames.length > 0 || settings.credentialName !== "") {
    applyCredentials(q, common, settings);
  } else {
    const certificates = settings.tlsCertificates.map(({ serverCertificate, privateKey }) => ({
      certificate: serverCertificate,
      key: privateKey,
    }));
    const one = { certificate: settings.serverCertificate, key: settings.privateKey };
    const files = {
      certificates: certificates.length > 0 ? certificates : [one],
      roots: settings.caCertificates,
      lists: settings.caCrl,
    };
    applyFileCredentials(q, common, files, validates ? fileValidation(settings) : undefined);
  }
  if (mode === Mode.SIMPLE || mode === Mode.MUTUAL || mode === Mode.OPTIONAL_MUTUAL)
    applyParameters(q, common, settings);
  enforceCompliance(q, common);
  return create(DownstreamTlsContextSchema, { commonTlsContext: common, requireClientCertificate: required });
}

function alpnOf(q: QueryContext, { mode, alpnProtocols }: ServerTLSSettings, payload: TlsPayload): readonly string[] {
  if (payload === "http3") return http3Alpn;
  if (alpnProtocols.length > 0) return alpnProtocols;
  return mode === Mode.ISTIO_MUTUAL && payload === "tcp" ? metadataExchangeAlpn(q) : httpAlpn;
}

function fileValidation({ subjectAltNames, insecureSkipVerify }: ServerTLSSettings) {
  return create(CertificateValidationContextSchema, {
    matchSubjectAltNames: subjectAltNames.map((name) => exactMatcher(name)),
    ...(insecureSkipVerify === true && acceptUntrusted),
  });
}

/**
 * Uses secrets from istiod or from an external SDS server. A secret that is never served stands in for an unknown one,
 * so that Envoy neither serves without TLS nor rejects the listener.
 */
function applyCredentials(q: QueryContext, common: CommonTlsContext, settings: ServerTLSSettings): void {
  const { mode, subjectAltNames, verifyCertificateSpki, verifyCertificateHash } = settings;
  const names = settings.credentialNames.length > 0 ? settings.credentialNames : [settings.credentialName];
  const [first = ""] = names;
  common.tlsCertificateSdsSecretConfigs = names.map((name) => serverSecret(q, name) ?? invalidSecret());
  const matchSubjectAltNames = subjectAltNames.map((name) => exactMatcher(name));
  if (mode === Mode.MUTUAL || mode === Mode.OPTIONAL_MUTUAL) {
    const rootsName = serverRootsCredentialName(settings.caCertCredentialName) || first + rootCertificatesSuffix;
    const roots = serverSecret(q, rootsName) ?? invalidSecret();
    common.validationContextType = {
      case: "combinedValidationContext",
      value: create(CombinedSchema, {
        defaultValidationContext: {
          matchSubjectAltNames,
          verifyCertificateSpki,
          verifyCertificateHash,
          ...(settings.insecureSkipVerify === true && acceptUntrusted),
        },
        validationContextSdsSecretConfig: roots,
      }),
    };
  } else if (subjectAltNames.length > 0) {
    common.validationContextType = {
      case: "validationContext",
      value: create(CertificateValidationContextSchema, { matchSubjectAltNames }),
    };
  }
}

/**
 * Returns an external credential from the proxy's own socket, or else from the mesh's `sds` provider, or else from
 * istiod.
 */
function serverSecret(q: QueryContext, credential: string): SdsSecretConfig | undefined {
  if (credential === "" || credential === externalSecretPrefix) return undefined;
  if (!credential.startsWith(externalSecretPrefix)) return credentialSecret(credential, false);
  if (q.ask(rawMetadata, "credential") === "true") return credentialSecret(credential, true);
  const provider = mesh(q).extensionProviders.find(({ provider: { case: kind } }) => kind === "sds")?.provider;
  if (provider?.case !== "sds") return credentialSecret(credential, false);
  const at = q.call(providerAddress, { service: provider.value.service, port: provider.value.port });
  return (
    at &&
    externalSecret(
      credential.slice(externalSecretPrefix.length),
      outboundClusterName(at.hostname, at.port),
      at.hostname,
    )
  );
}

/** Applies TLS versions, cipher suites and curves of the server, or else of the mesh. */
function applyParameters(q: QueryContext, common: CommonTlsContext, settings: ServerTLSSettings): void {
  const defaults = mesh(q).tlsDefaults;
  const ciphers = [...new Set(settings.cipherSuites)].filter(isCipherSuite);
  const params = (): TlsParameters => (common.tlsParams ??= create(TlsParametersSchema));
  const curves = settings.ecdhCurves.length > 0 ? settings.ecdhCurves : usableCurves(defaults?.ecdhCurves ?? []);
  const suites = ciphers.length > 0 ? ciphers : usableCiphers(defaults?.cipherSuites ?? []);
  if (curves.length > 0) params().ecdhCurves = [...curves];
  if (suites.length > 0) params().cipherSuites = [...suites];
  if (settings.minProtocolVersion !== ServerTlsProtocol.TLS_AUTO)
    params().tlsMinimumProtocolVersion = envoyVersion(settings.minProtocolVersion);
  else if (defaults !== undefined && defaults.minProtocolVersion !== MeshTlsProtocol.TLS_AUTO) {
    params().tlsMinimumProtocolVersion =
      defaults.minProtocolVersion === MeshTlsProtocol.TLSV1_3 ? TlsProtocol.TLSv1_3 : TlsProtocol.TLSv1_2;
  }
  if (settings.maxProtocolVersion !== ServerTlsProtocol.TLS_AUTO)
    params().tlsMaximumProtocolVersion = envoyVersion(settings.maxProtocolVersion);
}

function envoyVersion(version: ServerTlsProtocol): TlsProtocol {
  const versions: Partial<Record<ServerTlsProtocol, TlsProtocol>> = {
    [ServerTlsProtocol.TLSV1_0]: TlsProtocol.TLSv1_0,
    [ServerTlsProtocol.TLSV1_1]: TlsProtocol.TLSv1_1,
    [ServerTlsProtocol.TLSV1_2]: TlsProtocol.TLSv1_2,
    [ServerTlsProtocol.TLSV1_3]: TlsProtocol.TLSv1_3,
  };
  return versions[version] ?? TlsProtocol.TLS_AUTO;
}
