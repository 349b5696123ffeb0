import {
  type PeerAuthenticationObject,
  peerAuthenticationsByNamespace,
  rejectedPeerAuthenticationsByNamespace,
} from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import { rootNamespace } from "../mesh/mesh-config.js";
import { inNamespace, selects } from "../proxy/facts.js";
import { type Labels, selectorMatches } from "../proxy/labels.js";
import { declaredMode, type MutualTlsMode } from "./mutual-tls-mode.js";

/** Mutual TLS modes of a workload: the default and those of ports that differ. */
export interface PeerModes {
  readonly mode: MutualTlsMode;
  readonly ports: Readonly<Record<number, MutualTlsMode>>;
}

/** A workload as selected by PeerAuthentications. */
export interface PeerWorkload {
  readonly namespace: string;
  readonly labels: Labels;
}

/** Returns the mode of one port. */
export function modeOfPort(modes: PeerModes, port: number): MutualTlsMode {
  return modes.ports[port] ?? modes.mode;
}

/**
 * The mode of a namespace: that of its namespace-wide policy, else of the mesh-wide policy, else UNKNOWN. Clients use
 * this mode for the namespace's services. Source: pilot/pkg/model/authentication.go, GetNamespaceMutualTLSMode.
 */
export const namespaceMutualTlsMode = query("namespaceMutualTlsMode", (q, namespace: string): MutualTlsMode => {
  const root = rootNamespace(q);
  if (q.call(rejectedSelectors, namespace).some((selector) => Object.keys(selector).length === 0)) return "STRICT";
  const mesh = q.call(namespaceWidePolicy, root);
  const meshMode: MutualTlsMode = mesh === undefined ? "UNKNOWN" : (declaredMode(mesh.spec.mtls) ?? "PERMISSIVE");
  const own = namespace === root ? undefined : q.call(namespaceWidePolicy, namespace);
  if (own === undefined) return meshMode;
  return declaredMode(own.spec.mtls) ?? (meshMode === "UNKNOWN" ? "PERMISSIVE" : meshMode);
});

/**
 * The modes of any workload: of the oldest policy that selects it, else of its namespace, else of the mesh, else
 * PERMISSIVE.
 */
export const workloadPeerModes = query("workloadPeerModes", (q, { namespace, labels }: PeerWorkload): PeerModes =>
  namespacePeerModes(q, namespace)(labels),
);

/** Returns a function from labels to the modes of a namespace's workloads. Nothing is memoized per workload. */
export function namespacePeerModes(q: QueryContext, namespace: string): (labels: Labels) => PeerModes {
  const defaults = q.call(defaultMode, namespace);
  const policies = q.call(selectingPolicies, namespace);
  const unselected = policyModes(defaults, undefined);
  const rejected = q.call(rejectedSelectors, namespace);
  return (labels) => {
    if (rejected.some((selector) => selectorMatches(selector, labels))) return strictModes;
    const oldest = policies.find((policy) => selectorMatches(policy.spec.selector?.matchLabels ?? {}, labels));
    return oldest === undefined ? unselected : policyModes(defaults, oldest);
  };
}

/** The client's own modes. */
export const clientPeerModes = query("clientPeerModes", (q): PeerModes => {
  // Only namespaces with policies of their own tell clients apart.
  const namespace = q.call(namespacesWithPolicies).find((name) => q.ask(inNamespace, name));
  const rejected = q.call(rejectedSelectors, namespace ?? rootNamespace(q));
  if (rejected.some((selector) => selects(q, selector))) return strictModes;
  if (namespace === undefined) return policyModes(q.call(defaultMode, rootNamespace(q)), undefined);
  const oldest = q.call(selectingPolicies, namespace).find((policy) => selects(q, policy.spec.selector?.matchLabels));
  return policyModes(q.call(defaultMode, namespace), oldest);
});

/** The client's mode for connections to one of its ports. */
export const inboundMutualTlsMode = query("inboundMutualTlsMode", (q, port: number): MutualTlsMode =>
  modeOfPort(q.call(clientPeerModes), port),
);

const namespacesWithPolicies = query("namespacesWithPeerAuthentication", (q): readonly string[] => {
  const root = rootNamespace(q);
  const names = [...q.keys(peerAuthenticationsByNamespace), ...q.keys(rejectedPeerAuthenticationsByNamespace)];
  return [...new Set(names)].filter((name) => name !== root).sort();
});

const strictModes: PeerModes = { mode: "STRICT", ports: {} };

/**
 * The selectors of rejected PeerAuthentications without a good version that concern a namespace: its own and those of
 * the root namespace. The selected workloads accept mutual TLS only, whatever other policies say and however old they
 * are.
 */
const rejectedSelectors = query("rejectedPeerAuthenticationSelectors", (q, namespace: string): readonly Labels[] =>
  [...new Set([rootNamespace(q), namespace])].flatMap((name) =>
    q.read(rejectedPeerAuthenticationsByNamespace, name).map(({ spec }) => spec.selector?.matchLabels ?? {}),
  ),
);

/** The oldest policy of a namespace without a workload selector; in the root namespace, the mesh-wide policy. */
const namespaceWidePolicy = query(
  "namespaceWidePeerAuthentication",
  (q, namespace: string) => q.read(peerAuthenticationsByNamespace, namespace).filter(isNamespaceWide).sort(byAge)[0],
);

/** The policies of a namespace with a workload selector, oldest first; those of the root namespace are ignored. */
const selectingPolicies = query(
  "selectingPeerAuthentications",
  (q, namespace: string): readonly PeerAuthenticationObject[] =>
    namespace === rootNamespace(q)
      ? []
      : q
          .read(peerAuthenticationsByNamespace, namespace)
          .filter((policy) => !isNamespaceWide(policy))
          .sort(byAge),
);

const defaultMode = query("defaultPeerMode", (q, namespace: string): MutualTlsMode => {
  const mode = q.call(namespaceMutualTlsMode, namespace);
  return mode === "UNKNOWN" ? "PERMISSIVE" : mode;
});

function policyModes(defaults: MutualTlsMode, policy: PeerAuthenticationObject | undefined): PeerModes {
  const mode = declaredMode(policy?.spec.mtls) ?? defaults;
  const ports = Object.entries(policy?.spec.portLevelMtls ?? {}).map(
    ([port, mtls]) => [port, declaredMode(mtls) ?? mode] as const,
  );
  return { mode, ports: Object.fromEntries(ports) };
}

function isNamespaceWide(policy: PeerAuthenticationObject): boolean {
  return Object.keys(policy.spec.selector?.matchLabels ?? {}).length === 0;
}

function byAge(a: PeerAuthenticationObject, b: PeerAuthenticationObject): number {
  return a.creationTimestamp - b.creationTimestamp || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
}
