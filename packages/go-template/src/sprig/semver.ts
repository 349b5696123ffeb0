import { goFunction } from "../functions.js";
import { boolType, integerTypes, pointerTo, stringType } from "../values/known-types.js";
import { compareStrings } from "../values/strings.js";
import { parseUnsigned } from "../values/numbers.js";
import { GoPointer, GoStruct } from "../values/values.js";

/** A semantic version. */
export interface Version {
  readonly major: bigint;
  readonly minor: bigint;
  readonly patch: bigint;
  readonly prerelease: string;
  readonly metadata: string;
  readonly original: string;
}

const maxVersionLength = 256;
const versionPattern =
  /^v?([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?$/;

/**
 * Parses a version; minor and patch may be missing.
 *
 * @throws Error if it is not valid
 */
export function parseVersion(text: string): Version {
  if (Buffer.byteLength(text) > maxVersionLength)
    throw new Error(`version string is too long (max ${maxVersionLength} bytes)`);
  const match = versionPattern.exec(text);
  if (match === null) throw new Error("invalid semantic version");
  const [, major = "", minor = "", patch = "", prerelease = "", metadata = ""] = match;
  const version = {
    major: segment(major),
    minor: segment(minor),
    patch: segment(patch),
    prerelease,
    metadata,
    original: text,
  };
  if (prerelease.split(".").some((part) => /^0[0-9]+$/.test(part))) throw new Error("version segment starts with 0");
  return version;
}

function segment(digits: string): bigint {
  if (digits === "") return 0n;
  const value = parseUnsigned(digits, 10);
  if (value !== undefined) return value;
  throw new Error(
    `error parsing version segment: strconv.ParseUint: parsing ${JSON.stringify(digits)}: value out of range`,
  );
}

/** Compares two versions by precedence: negative, 0 or positive. */
export function compareVersions(a: Version, b: Version): number {
  for (const part of ["major", "minor", "patch"] as const) if (a[part] !== b[part]) return a[part] < b[part] ? -1 : 1;
  if (a.prerelease === b.prerelease) return 0;
  if (a.prerelease === "" || b.prerelease === "") return a.prerelease === "" ? 1 : -1;
  return comparePrereleases(a.prerelease, b.prerelease);
}

/** Compares two prereleases that are not empty. */
export function comparePrereleases(a: string, b: string): number {
  const [x, y] = [a.split("."), b.split(".")];
  for (let i = 0; i < Math.max(x.length, y.length); i++) {
    const order = comparePart(x[i] ?? "", y[i] ?? "");
    if (order !== 0) return order;
  }
  return 0;
}

function comparePart(a: string, b: string): number {
  if (a === b) return 0;
  if (a === "" || b === "") return a === "" ? -1 : 1;
  const [x, y] = [parseUnsigned(a, 10), parseUnsigned(b, 10)];
  if (x !== undefined && y !== undefined) return x > y ? 1 : -1;
  if (x === undefined && y === undefined) return compareStrings(a, b) > 0 ? 1 : -1;
  return y === undefined ? -1 : 1;
}

const text = stringType;
/** Type of versions. */
export const versionType = pointerTo("semver.Version");
const versions = new WeakMap<GoStruct, Version>();

/** Returns a version as the pointer that sprig's `semver` returns. */
export function versionPointer(version: Version): GoPointer {
  const compare = (other: GoPointer): number => compareVersions(version, versionOf(other));
  const test = (accepts: (order: number) => boolean) =>
    goFunction([versionType], boolType, (other) => accepts(compare(other)));
  const struct = new GoStruct(
    "semver.Version",
    {},
    {
      text: () => versionText(version),
      methods: {
        Major: goFunction([], integerTypes.uint64, () => version.major),
        Minor: goFunction([], integerTypes.uint64, () => version.minor),
        Patch: goFunction([], integerTypes.uint64, () => version.patch),
        Prerelease: goFunction([], text, () => version.prerelease),
        Metadata: goFunction([], text, () => version.metadata),
        Original: goFunction([], text, () => version.original),
        String: goFunction([], text, () => versionText(version)),
        Compare: goFunction([versionType], integerTypes.int, (other) => BigInt(compare(other))),
        Equal: test((order) => order === 0),
        GreaterThan: test((order) => order > 0),
        GreaterThanEqual: test((order) => order >= 0),
        LessThan: test((order) => order < 0),
        LessThanEqual: test((order) => order <= 0),
      },
    },
  );
  versions.set(struct, version);
  return new GoPointer(struct);
}

function versionOf({ target }: GoPointer): Version {
  const version = target === null ? undefined : versions.get(target);
  if (version === undefined) throw new Error("expected a version of the function semver");
  return version;
}

function versionText({ major, minor, patch, prerelease, metadata }: Version): string {
  return `${major}.${minor}.${patch}${prerelease === "" ? "" : `-${prerelease}`}${metadata === "" ? "" : `+${metadata}`}`;
}
