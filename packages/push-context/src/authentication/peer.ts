import { type PeerAuthenticationObject, peerAuthenticationsByNamespace } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import { rootNamespace } from "../mesh/mesh-config.js";
import { inNamespace, selects } from "../proxy/facts.js";
import { type Labels, selectorMatches } from "../proxy/labels.js";
import { declaredMode, type MutualTlsMode } from "./mutual-tls-mode.js";

/** The mutual TLS of a workload: one mode, and those of ports that differ. */
export interface PeerModes {
  readonly mode: MutualTlsMode;
  readonly ports: Readonly<Record<number, MutualTlsMode>>;
}

/** A workload as PeerAuthentications select it. */
export interface PeerWorkload {
  readonly namespace: string;
  readonly labels: Labels;
}

/** The mode of a port of a workload. */
export function modeOfPort(modes: PeerModes, port: number): MutualTlsMode {
  return modes.ports[port] ?? modes.mode;
}

/**
 * What a namespace's policy for all of its workloads says, else the mesh's; UNKNOWN where there is neither. This is all
 * that clients go by when they choose the mode for a service. Source: pilot/pkg/model/authentication.go,
 * GetNamespaceMutualTLSMode.
 */
export const namespaceMutualTlsMode = query("namespaceMutualTlsMode", (q, namespace: string): MutualTlsMode => {
  const root = rootNamespace(q);
  const mesh = q.call(widePolicy, root);
  const meshMode: MutualTlsMode = mesh === undefined ? "UNKNOWN" : (declaredMode(mesh.spec.mtls) ?? "PERMISSIVE");
  const own = namespace === root ? undefined : q.call(widePolicy, namespace);
  if (own === undefined) return meshMode;
  return declaredMode(own.spec.mtls) ?? (meshMode === "UNKNOWN" ? "PERMISSIVE" : meshMode);
});

/**
 * The modes of any workload: of the oldest policy that selects it, over the namespace's, over the mesh's, else
 * PERMISSIVE.
 */
export const workloadPeerModes = query("workloadPeerModes", (q, { namespace, labels }: PeerWorkload): PeerModes =>
  namespacePeerModes(q, namespace)(labels),
);

/** The modes of the workloads of a namespace by their labels, for those who ask for many: nothing is kept for each. */
export function namespacePeerModes(q: QueryContext, namespace: string): (labels: Labels) => PeerModes {
  const wider = q.call(widestMode, namespace);
  const policies = q.call(selectingPolicies, namespace);
  const unselected = modesUnder(wider, undefined);
  return (labels) => {
    const oldest = policies.find((policy) => selectorMatches(policy.spec.selector?.matchLabels ?? {}, labels));
    return oldest === undefined ? unselected : modesUnder(wider, oldest);
  };
}

/** The modes of the client itself. */
export const clientPeerModes = query("clientPeerModes", (q): PeerModes => {
  // Only namespaces with policies of their own tell clients apart.
  const namespace = q.call(namespacesWithPolicies).find((name) => q.ask(inNamespace, name));
  if (namespace === undefined) return modesUnder(q.call(widestMode, rootNamespace(q)), undefined);
  const oldest = q.call(selectingPolicies, namespace).find((policy) => selects(q, policy.spec.selector?.matchLabels));
  return modesUnder(q.call(widestMode, namespace), oldest);
});

/** The mode in which the client takes connections at one of its ports. */
export const inboundMutualTlsMode = query("inboundMutualTlsMode", (q, port: number): MutualTlsMode =>
  modeOfPort(q.call(clientPeerModes), port),
);

const namespacesWithPolicies = query("namespacesWithPeerAuthentication", (q): readonly string[] => {
  const root = rootNamespace(q);
  return q.keys(peerAuthenticationsByNamespace).filter((name) => name !== root);
});

/** The oldest policy of a namespace that selects no workloads in particular; in the root namespace, the mesh's. */
const widePolicy = query(
  "widePeerAuthentication",
  (q, namespace: string) => q.read(peerAuthenticationsByNamespace, namespace).filter(isWide).sort(byAge)[0],
);

/** The policies of a namespace that select workloads, the oldest first; those of the root namespace do not count. */
const selectingPolicies = query(
  "selectingPeerAuthentications",
  (q, namespace: string): readonly PeerAuthenticationObject[] =>
    namespace === rootNamespace(q)
      ? []
      : q
          .read(peerAuthenticationsByNamespace, namespace)
          .filter((policy) => !isWide(policy))
          .sort(byAge),
);

const widestMode = query("widestPeerMode", (q, namespace: string): MutualTlsMode => {
  const mode = q.call(namespaceMutualTlsMode, namespace);
  return mode === "UNKNOWN" ? "PERMISSIVE" : mode;
});

function modesUnder(wider: MutualTlsMode, policy: PeerAuthenticationObject | undefined): PeerModes {
  const mode = declaredMode(policy?.spec.mtls) ?? wider;
  const ports = Object.entries(policy?.spec.portLevelMtls ?? {}).map(
    ([port, mtls]) => [port, declaredMode(mtls) ?? mode] as const,
  );
  return { mode, ports: Object.fromEntries(ports) };
}

function isWide(policy: PeerAuthenticationObject): boolean {
  return Object.keys(policy.spec.selector?.matchLabels ?? {}).length === 0;
}

function byAge(a: PeerAuthenticationObject, b: PeerAuthenticationObject): number {
  return a.creationTimestamp - b.creationTimestamp || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
}
