/** An Istio version, for comparison. Parts that the proxy did not report are {@link unknownVersionPart}. */
export interface IstioVersion {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

/** Larger than any release: proxies without a version are assumed to be the latest. */
export const unknownVersionPart = 65535;

const pattern = /^([1-9]+)\.([0-9]+)(?:\.([0-9]+))?/;

/**
 * Parses `1.29.0` or `release-1.29-…`; anything else counts as newer than all releases (pilot/pkg/model/context.go).
 */
export function parseIstioVersion(text: string): IstioVersion {
  const found = pattern.exec(text.startsWith("release-") ? text.slice("release-".length) : text);
  if (found === null) {
    return { major: unknownVersionPart, minor: unknownVersionPart, patch: unknownVersionPart };
  }
  return {
    major: Number(found[1]),
    minor: Number(found[2]),
    patch: found[3] === undefined ? unknownVersionPart : Number(found[3]),
  };
}

/** Compares two versions. A negative part of `b`, and the parts after it, are not compared. */
export function compareIstioVersions(a: IstioVersion, b: IstioVersion): number {
  if (a.major !== b.major) {
    return a.major - b.major;
  }
  if (b.minor < 0 || a.minor !== b.minor) {
    return b.minor < 0 ? 0 : a.minor - b.minor;
  }
  return b.patch < 0 ? 0 : a.patch - b.patch;
}
