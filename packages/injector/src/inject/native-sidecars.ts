/** Modes of `ENABLE_NATIVE_SIDECARS`: `auto` looks at the nodes. */
export type NativeSidecarMode = "true" | "false" | "auto";

/** A node, reduced to what tells whether it runs native sidecars. */
export interface NodeVersion {
  readonly name: string;
  /** `status.nodeInfo.kubeletVersion`. */
  readonly kubeletVersion: string;
}

/** Minor version of Kubernetes in which native sidecars became stable. */
const minimumMinor = 33;

/**
 * Reports whether a pod's proxy becomes a native sidecar: in mode `auto` if its node, or else every node, runs
 * Kubernetes 1.33 or newer.
 *
 * @param nodes undefined if the nodes are unknown
 * @param nodeName name of the pod's node; empty if it has none yet
 */
export function usesNativeSidecars(
  mode: NativeSidecarMode,
  nodes: readonly NodeVersion[] | undefined,
  nodeName: string,
): boolean {
  if (mode !== "auto") return mode === "true";
  if (nodes === undefined) return false;
  const own = nodeName === "" ? undefined : nodes.find(({ name }) => name === nodeName);
  return (own === undefined ? nodes : [own]).every(isRecent);
}

function isRecent({ kubeletVersion }: NodeVersion): boolean {
  const match = /^v?(\d+)\.(\d+)/.exec(kubeletVersion);
  return match !== null && Number(match[2]) >= minimumMinor;
}
