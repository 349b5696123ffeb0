import { create } from "@bufbuild/protobuf";
import type { QueryContext } from "@istiod/incremental";
import {
  type ClientTLSSettings,
  ClientTLSSettings_TLSmode as Mode,
  ClientTLSSettingsSchema,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { features, type MutualTlsMode } from "@istiod/push-context";
import { type ClientCertificateFiles, clusterDefaults } from "../cluster-defaults.js";

/** The TLS settings of a cluster, and whether istiod chose them (automatic mutual TLS) rather than a policy. */
export interface UpstreamTlsChoice {
  readonly settings: ClientTLSSettings | undefined;
  readonly automatic: boolean;
}

export interface UpstreamTlsTarget {
  /** Identities of the service, the subject alternative names of its certificate. */
  readonly identities: readonly string[];
  /** The SNI by which east-west gateways route to the service. */
  readonly sni: string;
  readonly meshExternal: boolean;
  readonly serviceMode: MutualTlsMode;
}

/**
 * Completes the TLS settings of a policy, or chooses them: Istio's mutual TLS, unless the service is outside the mesh
 * or disables it. A proxy with its own certificates uses them for all mutual TLS.
 * Source: pilot/pkg/networking/core/cluster_tls.go, buildUpstreamTLSSettings.
 */
export function chooseUpstreamTls(
  q: QueryContext,
  policy: ClientTLSSettings | undefined,
  target: UpstreamTlsTarget,
): UpstreamTlsChoice {
  if (policy !== undefined) return { settings: completeTlsSettings(q, policy, target), automatic: false };
  const { serviceMode, identities, sni } = target;
  if (
    target.meshExternal ||
    !q.call(clusterDefaults).autoMutualTls ||
    serviceMode === "UNKNOWN" ||
    serviceMode === "DISABLE"
  ) {
    return { settings: undefined, automatic: false };
  }
  const files = mutualTlsFiles(q);
  const settings = create(ClientTLSSettingsSchema, {
    ...(files ?? { mode: Mode.ISTIO_MUTUAL }),
    subjectAltNames: [...identities],
    sni,
  });
  return { settings, automatic: true };
}

function completeTlsSettings(
  q: QueryContext,
  policy: ClientTLSSettings,
  { meshExternal, sni, identities }: UpstreamTlsTarget,
): ClientTLSSettings {
  if (policy.mode === Mode.DISABLE || policy.mode === Mode.SIMPLE) return policy;
  const insecure = policy.insecureSkipVerify === undefined ? {} : { insecureSkipVerify: policy.insecureSkipVerify };
  const files = mutualTlsFiles(q);
  if (files !== undefined) {
    if (meshExternal && features.preferDestinationRuleTlsForExternal(q)) return policy;
    return create(ClientTLSSettingsSchema, {
      ...files,
      subjectAltNames: policy.subjectAltNames,
      sni: policy.sni,
      ...insecure,
    });
  }
  if (policy.mode !== Mode.ISTIO_MUTUAL) return policy;
  return create(ClientTLSSettingsSchema, {
    mode: Mode.ISTIO_MUTUAL,
    sni: policy.sni === "" ? sni : policy.sni,
    subjectAltNames: policy.subjectAltNames.length === 0 ? [...identities] : policy.subjectAltNames,
    ...insecure,
  });
}

/** Returns mutual TLS settings with the certificate files in the node metadata. */
function mutualTlsFiles(q: QueryContext): (ClientCertificateFiles & { readonly mode: Mode }) | undefined {
  const own = q.call(clusterDefaults).clientCertificates;
  return own && { mode: Mode.MUTUAL, ...own };
}
