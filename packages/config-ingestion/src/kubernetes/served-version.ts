import type { Kind } from "@istiod/config-schema";
import type { ResourceType } from "@istiod/kubernetes";

/** Returns the newest version of a kind that is both served and read; undefined if there is none. */
export function newestServed(kind: Kind, served: readonly ResourceType[]): ResourceType | undefined {
  return served
    .filter((type) => type.group === kind.group && type.kind === kind.kind && kind.versions.includes(type.version))
    .sort((a, b) => compareVersions(b.version, a.version))[0];
}

/** Orders versions as Kubernetes does: v1alpha1, v1beta1, v1, v2. */
function compareVersions(a: string, b: string): number {
  const [one, other] = [priorityOf(a), priorityOf(b)];
  const at = one.findIndex((part, i) => part !== other[i]);
  return at < 0 ? 0 : (one[at] ?? 0) - (other[at] ?? 0);
}

function priorityOf(version: string): readonly number[] {
  const [, major, stage, minor] = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version) ?? [];
  if (major === undefined) return [-1, 0, 0];
  return [stage === undefined ? 2 : stage === "beta" ? 1 : 0, Number(major), Number(minor ?? 0)];
}
