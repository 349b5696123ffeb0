import {
  destinationRules,
  peerAuthenticationKind,
  type PeerAuthenticationObject,
  peerAuthentications,
  peerAuthenticationsByNamespace,
} from "@istiod/config-schema";
import { index } from "@istiod/incremental";
import { ClientTLSSettings_TLSmode as TlsMode } from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { PeerAuthentication_MutualTLS_Mode as Mode } from "@istiod/istio-api/security/v1beta1/peer_authentication";
import { mesh, rootNamespace } from "@istiod/push-context";
import { tlsSettings } from "../destination-rule/tls-settings.js";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { formatSelector } from "../../queries/pods.js";

export const peerAuthenticationAnalyzer: Analyzer = {
  name: "mesh.PeerAuthenticationAnalyzer",
  description: "Checks for PeerAuthentications that an older one overrides, or whose namespace allows no selector",
  codes: ["MESH0017", "MESH0042"],
  rules: [
    rule(peerAuthenticationKind, peerAuthentications, checkPlaintext),
    rule(peerAuthenticationKind, peerAuthentications, checkOlder),
    rule(peerAuthenticationKind, peerAuthentications, checkRoot),
  ],
};

/** Reports a policy that never applies: of those that select a workload, the oldest one applies. */
function checkOlder(own: PeerAuthenticationObject, { q, report }: AnalysisContext): void {
  const selector = selectorOf(own);
  const [oldest] = q
    .read(peerAuthenticationsByNamespace, own.namespace)
    .filter((other) => selectorOf(other) === selector)
    .sort((a, b) => a.creationTimestamp - b.creationTimestamp || (a.name < b.name ? -1 : 1));
  if (oldest === undefined || oldest.name === own.name) return;
  const what = selector === "" ? "without a selector" : `for ${selector}`;
  report(
    "MESH0042",
    ["spec"],
    `the policy has no effect: of the PeerAuthentications of namespace ${own.namespace} ${what}, only the oldest applies, ${oldest.name}; merge the two`,
  );
}

/** Reports a policy that requires mutual TLS where no client sends it. */
function checkPlaintext({ spec }: PeerAuthenticationObject, { q, report }: AnalysisContext): void {
  if (spec.mtls?.mode !== Mode.STRICT || mesh(q).enableAutoMtls !== false) return;
  if (q.members(mutualRules, "mutual").length > 0) return;
  report(
    "MESH0017",
    ["spec", "mtls"],
    "mode STRICT rejects every request of sidecars: they send plaintext, because enableAutoMtls of the mesh configuration is false, and no DestinationRule has tls mode ISTIO_MUTUAL or MUTUAL; set enableAutoMtls to true, or add one",
  );
}

/** DestinationRules with mutual TLS, by certificates of the mesh or of files, in one bucket. */
const mutualRules = index(destinationRules, "withMutualTls", (rule) =>
  tlsSettings(rule).some(({ tls }) => tls.mode === TlsMode.ISTIO_MUTUAL || tls.mode === TlsMode.MUTUAL)
    ? ["mutual"]
    : [],
);

/**
 * Reports a policy of the root namespace with a selector, which applies nowhere, not even to workloads of that
 * namespace. Source: pilot/pkg/model/authentication.go, ComposePeerAuthentication.
 */
function checkRoot(own: PeerAuthenticationObject, { q, report }: AnalysisContext): void {
  const selector = selectorOf(own);
  if (selector === "" || own.namespace !== rootNamespace(q)) return;
  report(
    "MESH0042",
    ["spec", "selector"],
    `the policy has no effect: ${own.namespace} is the root namespace, whose PeerAuthentications apply to the whole mesh and only without a selector; move the policy to the namespace of the workloads, or remove the selector`,
  );
}

function selectorOf({ spec }: PeerAuthenticationObject): string {
  return formatSelector(spec.selector?.matchLabels ?? {});
}
