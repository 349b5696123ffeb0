/** An Istio release, for comparison; a part that the proxy did not state is {@link unstated}. */
export interface IstioVersion {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

/** Larger than any release: what a proxy without a readable version is taken to run. */
export const unstated = 65535;

const pattern = /^([1-9]+)\.([0-9]+)(?:\.([0-9]+))?/;

/** Reads `1.29.0`, `release-1.29-…`; anything else counts as newer than every release (pilot/pkg/model/context.go). */
export function parseIstioVersion(text: string): IstioVersion {
  const found = pattern.exec(text.startsWith("release-") ? text.slice("release-".length) : text);
  if (found === null) {
    return { major: unstated, minor: unstated, patch: unstated };
  }
  return {
    major: Number(found[1]),
    minor: Number(found[2]),
    patch: found[3] === undefined ? unstated : Number(found[3]),
  };
}

/**
 * Negative, zero or positive as `a` is older than, the same as or newer than `b`; a negative part of `b` is not
 * compared, nor what follows it.
 */
export function compareIstioVersions(a: IstioVersion, b: IstioVersion): number {
  if (a.major !== b.major) {
    return a.major - b.major;
  }
  if (b.minor < 0 || a.minor !== b.minor) {
    return b.minor < 0 ? 0 : a.minor - b.minor;
  }
  return b.patch < 0 ? 0 : a.patch - b.patch;
}
