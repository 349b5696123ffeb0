import { create } from "@bufbuild/protobuf";
import { anyPack, anyUnpack } from "@bufbuild/protobuf/wkt";
import { UpstreamHttpProtocolOptionsSchema } from "@istiod/envoy-api/envoy/config/core/v3/protocol";
import { ClusterConfigSchema } from "@istiod/envoy-api/envoy/extensions/clusters/dynamic_forward_proxy/v3/cluster";
import {
  CertificateValidationContextSchema as ValidationSchema,
  TlsParameters_TlsProtocol as TlsProtocol,
} from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/common";
import {
  type CommonTlsContext,
  CommonTlsContext_CombinedCertificateValidationContextSchema as CombinedSchema,
  CommonTlsContextSchema,
  type UpstreamTlsContext,
  UpstreamTlsContextSchema,
} from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/tls";
import { usableCiphers, usableCurves } from "@istiod/config-schema";
import type { QueryContext } from "@istiod/incremental";
import {
  type ClientTLSSettings,
  ClientTLSSettings_TLSmode as Mode,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { mesh, proxyType, rawMetadata, rootsCredentialName } from "@istiod/push-context";
import { exactMatcher } from "../../envoy/string-matcher.js";
import { rootCertificatesSuffix } from "../../resource-names.js";
import { enforceCompliance } from "../../security/tls/compliance.js";
import {
  agentSecret,
  credentialSecret,
  externalSecretPrefix,
  fileSecret,
  servesRevocationLists,
  isForAllSidecars,
  workloadCertificate,
  workloadRoots,
} from "../../security/tls/sds-secret.js";
import { clusterDefaults } from "../cluster-defaults.js";
import { type ClusterDraft, httpOptions } from "../cluster-draft.js";
import { isHttp2Only } from "./upstream-protocol.js";

export interface UpstreamTlsOptions {
  /** Identities in the certificates of a ServiceEntry, used if the policy has none. Empty otherwise. */
  readonly externalIdentities: readonly string[];
  /**
   * True if the policy has a workload selector. Credentials of other policies are ignored by sidecars, which might not
   * be allowed to read them.
   */
  readonly selectsWorkloads: boolean;
  /** The credential to present to servers that ask for a certificate, if the settings do not require one. */
  readonly clientCertificate?: string;
}

/**
 * Returns the TLS context of the cluster; undefined for plaintext. Sets SNI and certificate verification by the
 * request's host on the draft. Source: pilot/pkg/networking/core/cluster_tls.go.
 */
export function upstreamTlsContext(
  q: QueryContext,
  draft: ClusterDraft,
  settings: ClientTLSSettings,
  options: UpstreamTlsOptions,
): UpstreamTlsContext | undefined {
  if (settings.mode === Mode.DISABLE) return undefined;
  if (settings.mode === Mode.ISTIO_MUTUAL) {
    const context = istioMutual(q, draft, settings);
    enforceCompliance(q, commonTlsContextOf(context));
    return context;
  }
  const { credentialName } = settings;
  const rootsName = rootsCredential(q, settings, options);
  // Sidecars that cannot read the secret would wait for it, so a credential requires a workload selector.
  if (
    credentialName !== "" &&
    !isForAllSidecars(credentialName) &&
    !options.selectsWorkloads &&
    q.ask(proxyType) === "sidecar"
  )
    return undefined;
  const mutual = settings.mode === Mode.MUTUAL;
  if (mutual && credentialName === "" && (settings.clientCertificate === "" || settings.privateKey === ""))
    return undefined;
  useRequestHostForTls(draft, settings);
  const names = settings.subjectAltNames.length > 0 ? settings.subjectAltNames : options.externalIdentities;
  const context = newTlsContext(settings.sni);
  const common = commonTlsContextOf(context);
  if (credentialName !== "") applyCredential(q, common, settings, names, rootsName);
  else applyCertificateFiles(q, common, settings, names, mutual);
  if (settings.mode === Mode.SIMPLE && options.clientCertificate !== undefined)
    common.tlsCertificateSdsSecretConfigs = [credentialSecret(options.clientCertificate, false)];
  if (credentialName === "" && rootsName !== "" && settings.insecureSkipVerify !== true)
    common.validationContextType = credentialRoots(q, rootsName, names);
  const ecdhCurves = usableCurves(mesh(q).tlsDefaults?.ecdhCurves ?? []);
  const cipherSuites = usableCiphers(mesh(q).tlsDefaults?.cipherSuites ?? []);
  if (common.tlsParams !== undefined && ecdhCurves.length > 0) common.tlsParams.ecdhCurves = [...ecdhCurves];
  if (common.tlsParams !== undefined && cipherSuites.length > 0) common.tlsParams.cipherSuites = [...cipherSuites];
  if (isHttp2Only(draft)) common.alpnProtocols = ["h2"];
  enforceCompliance(q, common);
  return context;
}

function istioMutual(q: QueryContext, draft: ClusterDraft, settings: ClientTLSSettings): UpstreamTlsContext {
  const sni = settings.sni === "" && !draft.dynamicForwardProxy ? draft.cluster.name : settings.sni;
  const context = newTlsContext(sni);
  const common = commonTlsContextOf(context);
  common.tlsCertificateSdsSecretConfigs = [agentSecret(workloadCertificate)];
  common.validationContextType = {
    case: "combinedValidationContext",
    value: create(CombinedSchema, {
      defaultValidationContext: { matchSubjectAltNames: settings.subjectAltNames.map((name) => exactMatcher(name)) },
      validationContextSdsSecretConfig: agentSecret(workloadRoots),
    }),
  };
  const exchanges = q.call(clusterDefaults).offersMetadataExchangeAlpn;
  common.alpnProtocols = [
    ...(exchanges ? ["istio-peer-exchange"] : []),
    "istio",
    ...(isHttp2Only(draft) ? ["h2"] : []),
  ];
  if (draft.dynamicForwardProxy) useRequestHostForTls(draft, settings);
  return context;
}

/** @param rootsName credential of the roots; empty for those in the certificate's */
function applyCredential(
  q: QueryContext,
  common: CommonTlsContext,
  settings: ClientTLSSettings,
  names: readonly string[],
  rootsName: string,
): void {
  const { credentialName } = settings;
  if (settings.mode === Mode.MUTUAL)
    common.tlsCertificateSdsSecretConfigs = [credentialSecret(credentialName, hasOwnServer(q, credentialName))];
  if (settings.insecureSkipVerify === true) return;
  common.validationContextType = credentialRoots(q, rootsName || credentialName + rootCertificatesSuffix, names);
}

function credentialRoots(
  q: QueryContext,
  rootsName: string,
  names: readonly string[],
): CommonTlsContext["validationContextType"] {
  return {
    case: "combinedValidationContext",
    value: create(CombinedSchema, {
      defaultValidationContext: { matchSubjectAltNames: names.map((name) => exactMatcher(name)) },
      validationContextSdsSecretConfig: credentialSecret(rootsName, hasOwnServer(q, rootsName)),
    }),
  };
}

function hasOwnServer(q: QueryContext, credential: string): boolean {
  return credential.startsWith(externalSecretPrefix) && q.ask(rawMetadata, "credential") === "true";
}

/**
 * Returns the credential of the roots that `caCertCredentialName` names; empty if there is none, or if it is ignored:
 * at sidecars without a workload selector, which could not read the Secret.
 */
function rootsCredential(
  q: QueryContext,
  { caCertCredentialName: name }: ClientTLSSettings,
  { selectsWorkloads }: UpstreamTlsOptions,
): string {
  if (name !== "" && !isForAllSidecars(name) && !selectsWorkloads && q.ask(proxyType) === "sidecar") return "";
  return rootsCredentialName(name);
}

/**
 * Uses certificate files of the proxy. The agent reads and serves them, so that they can be rotated. Without roots,
 * uses the system's.
 */
function applyCertificateFiles(
  q: QueryContext,
  common: CommonTlsContext,
  settings: ClientTLSSettings,
  names: readonly string[],
  mutual: boolean,
): void {
  const ownFileServer = q.ask(rawMetadata, "file-credential") === "true";
  if (mutual) {
    common.tlsCertificateSdsSecretConfigs = [
      fileSecret(`file-cert:${settings.clientCertificate}~${settings.privateKey}`, ownFileServer),
    ];
  }
  if (settings.insecureSkipVerify === true) {
    common.validationContextType = { case: "validationContext", value: create(ValidationSchema) };
    return;
  }
  const { caCrl } = settings;
  const roots = settings.caCertificates === "" ? "system" : settings.caCertificates;
  const listed = caCrl !== "" && servesRevocationLists(q);
  common.validationContextType = {
    case: "combinedValidationContext",
    value: create(CombinedSchema, {
      defaultValidationContext: {
        matchSubjectAltNames: names.map((name) => exactMatcher(name)),
        ...(caCrl !== "" && !listed && { crl: { specifier: { case: "filename" as const, value: caCrl } } }),
      },
      validationContextSdsSecretConfig: fileSecret(`file-root:${roots}${listed ? `~${caCrl}` : ""}`, ownFileServer),
    }),
  };
}

/**
 * Uses the request's host as SNI if the policy has none, and verifies the certificate against it if the policy has no
 * subject alternative names.
 */
function useRequestHostForTls(draft: ClusterDraft, settings: ClientTLSSettings): void {
  const verifies = settings.insecureSkipVerify !== true;
  const sni = settings.sni === "";
  const validation = verifies && (draft.dynamicForwardProxy || (sni && settings.subjectAltNames.length === 0));
  if (draft.dynamicForwardProxy && !(sni && validation)) allowInsecureOptions(draft);
  if (!sni && !validation) return;
  const upstream = (httpOptions(draft).upstreamHttpProtocolOptions ??= create(UpstreamHttpProtocolOptionsSchema));
  if (sni) upstream.autoSni = true;
  if (validation) upstream.autoSanValidation = true;
}

/**
 * Allows fixed names. Envoy otherwise rejects a dynamic forward proxy that does not verify the host of each request.
 */
export function allowInsecureOptions({ cluster }: ClusterDraft): void {
  if (cluster.clusterDiscoveryType.case !== "clusterType") return;
  const type = cluster.clusterDiscoveryType.value;
  const config = type.typedConfig && anyUnpack(type.typedConfig, ClusterConfigSchema);
  if (config === undefined) return;
  config.allowInsecureClusterOptions = true;
  type.typedConfig = anyPack(ClusterConfigSchema, config);
}

function newTlsContext(sni: string): UpstreamTlsContext {
  return create(UpstreamTlsContextSchema, {
    sni,
    commonTlsContext: {
      tlsParams: { tlsMinimumProtocolVersion: TlsProtocol.TLSv1_2, tlsMaximumProtocolVersion: TlsProtocol.TLSv1_3 },
    },
  });
}

function commonTlsContextOf(context: UpstreamTlsContext): CommonTlsContext {
  return (context.commonTlsContext ??= create(CommonTlsContextSchema));
}
