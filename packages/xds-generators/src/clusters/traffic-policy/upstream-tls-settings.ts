import { create } from "@bufbuild/protobuf";
import type { QueryContext } from "@istiod/incremental";
import {
  type ClientTLSSettings,
  ClientTLSSettings_TLSmode as Mode,
  ClientTLSSettingsSchema,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { features, type MutualTlsMode } from "@istiod/push-context";
import { type ClientCertificateFiles, clusterDefaults } from "../cluster-defaults.js";

/** The TLS of a cluster, and whether a policy chose it or istiod did, since the service takes Istio's mutual TLS. */
export interface UpstreamTlsChoice {
  readonly settings: ClientTLSSettings | undefined;
  readonly automatic: boolean;
}

export interface UpstreamTlsTarget {
  /** Identities of the service, the names that its certificate may have. */
  readonly identities: readonly string[];
  /** The SNI by which gateways between networks find the service. */
  readonly sni: string;
  readonly meshExternal: boolean;
  readonly serviceMode: MutualTlsMode;
}

/**
 * The settings of a policy completed with what istiod knows, or those that istiod chooses itself: Istio's mutual TLS unless the service
 * lies outside of the mesh or turns it off. A proxy that brings its own certificates uses them in every mutual TLS.
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
  const own = mutualTlsFiles(q);
  const settings = create(ClientTLSSettingsSchema, {
    ...(own ?? { mode: Mode.ISTIO_MUTUAL }),
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
  const own = mutualTlsFiles(q);
  if (own !== undefined) {
    if (meshExternal && features.preferDestinationRuleTlsForExternal(q)) return policy;
    return create(ClientTLSSettingsSchema, {
      ...own,
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

/** Certificates that the node names as its own, in files. */
function mutualTlsFiles(q: QueryContext): (ClientCertificateFiles & { readonly mode: Mode }) | undefined {
  const own = q.call(clusterDefaults).clientCertificates;
  return own && { mode: Mode.MUTUAL, ...own };
}
