import { type Functions, goFunction } from "../functions.js";
import { boolType, stringType } from "../values/known-types.js";
import { quote } from "../values/quote.js";
import {
  comparePrereleases,
  compareVersions,
  parseVersion,
  type Version,
  versionPointer,
  versionType,
} from "./semver.js";

/** Functions of semantic versions. */
export const semverFunctions: Functions = {
  semver: goFunction([stringType], versionType, (text) => versionPointer(parseVersion(text))),
  semverCompare: goFunction([stringType, stringType], boolType, (constraint, text) => {
    const alternatives = parseConstraint(constraint);
    return satisfies(parseVersion(text), alternatives);
  }),
};

const maxLength = 512;
const maxAlternatives = 32;

type Operator = "=" | "!=" | ">" | "<" | ">=" | "<=" | "~" | "^";

/** A comparison with a version of which parts may be missing. */
interface Comparison {
  readonly operator: Operator;
  readonly version: Version;
  /** Number of parts that are given: 0 for `*`, 3 for a whole version. */
  readonly parts: 0 | 1 | 2 | 3;
}

const operators = "=|!=|>|<|>=|=>|<=|=<|~|~>|\\^";
const wildcard = "[0-9|xX*]+";
const tail = "(-([0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*))?(\\+([0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*))?";
const versionSource = `v?(${wildcard})(\\.${wildcard})?(\\.${wildcard})?${tail}`;
const plainSource = `v?${wildcard}(?:\\.${wildcard})?(?:\\.${wildcard})?(?:-[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?`;
const space = "[\\t\\n\\f\\r ]";
const anyOperator = `(?:${operators
  .split("|")
  .sort((a, b) => b.length - a.length)
  .join("|")})?`;

const valid = new RegExp(
  `^${space}*${anyOperator}${space}*${plainSource}${space}*(?:(?:${space}+|,${space}*)${anyOperator}${space}*${plainSource}${space}*)*$`,
);
const each = new RegExp(`${anyOperator}${space}*${plainSource}`, "g");
const single = new RegExp(`^${space}*(${anyOperator})${space}*(${versionSource})${space}*$`);
const range = new RegExp(`${space}*(${plainSource})${space}+-${space}+(${plainSource})${space}*`, "g");

function parseConstraint(text: string): readonly (readonly Comparison[])[] {
  if (Buffer.byteLength(text) > maxLength) throw new Error(`constraint string is too long (max ${maxLength} bytes)`);
  const alternatives = text.replace(range, ">= $1, <= $2 ").split("||");
  if (alternatives.length > maxAlternatives) throw new Error(`too many constraint groups (max ${maxAlternatives})`);
  return alternatives.map((alternative) => {
    if (!valid.test(alternative)) throw new Error(`improper constraint: ${quote(alternative)}`);
    return (alternative.match(each) ?? [alternative]).map(parseComparison);
  });
}

const aliases: Readonly<Record<string, Operator>> = { "": "=", "=>": ">=", "=<": "<=", "~>": "~" };
const isWildcard = (part: string | undefined): boolean => part === undefined || /^\.?[xX*]?$/.test(part);

function parseComparison(text: string): Comparison {
  const match = single.exec(text);
  if (match === null) throw new Error(`improper constraint: ${quote(text)}`);
  const [, sign = "", whole = "", major = "", minor, patch, prerelease = ""] = match;
  const parts = isWildcard(major) ? 0 : isWildcard(minor) ? 1 : isWildcard(patch) ? 2 : 3;
  const source = [`0.0.0${prerelease}`, `${major}.0.0${prerelease}`, `${major}${minor}.0${prerelease}`, whole][parts];
  try {
    return { operator: aliases[sign] ?? (sign as Operator), version: parseVersion(source ?? ""), parts };
  } catch (cause) {
    throw new Error("constraint parser error", { cause });
  }
}

function satisfies(version: Version, alternatives: readonly (readonly Comparison[])[]): boolean {
  return alternatives.some((comparisons) => {
    const allowsPrerelease = comparisons.some((comparison) => comparison.version.prerelease !== "");
    if (version.prerelease !== "" && !allowsPrerelease) return comparisons.length === 0;
    return comparisons.every((comparison) => matches(version, comparison));
  });
}

function matches(version: Version, { operator, version: bound, parts }: Comparison): boolean {
  const order = compareVersions(version, bound);
  switch (operator) {
    case "=":
      return parts < 3 ? isTilde(version, bound, parts) : order === 0;
    case "!=":
      return differs(version, bound, parts);
    case ">":
      return isGreater(version, bound, parts);
    case "<":
      return order < 0;
    case ">=":
      return order >= 0;
    case "<=":
      return isAtMost(version, bound, parts);
    case "~":
      return isTilde(version, bound, parts);
    case "^":
      return isCaret(version, bound, parts);
  }
}

function differs(version: Version, bound: Version, parts: number): boolean {
  if (parts === 3) return compareVersions(version, bound) !== 0;
  if (version.major !== bound.major) return true;
  if (parts === 1) return false;
  if (version.minor !== bound.minor) return true;
  if (parts === 0) return version.patch !== bound.patch || compareVersions(version, bound) !== 0;
  if (version.prerelease === "" && bound.prerelease === "") return false;
  return comparePrereleases(version.prerelease, bound.prerelease) !== 0;
}

function isGreater(version: Version, bound: Version, parts: number): boolean {
  if (parts === 3 || parts === 0) return compareVersions(version, bound) > 0;
  if (version.major !== bound.major) return version.major > bound.major;
  return parts === 2 && version.minor > bound.minor;
}

function isAtMost(version: Version, bound: Version, parts: number): boolean {
  if (parts === 3) return compareVersions(version, bound) <= 0;
  if (version.major !== bound.major) return version.major < bound.major;
  return version.minor <= bound.minor || parts === 1;
}

function isTilde(version: Version, bound: Version, parts: number): boolean {
  if (compareVersions(version, bound) < 0) return false;
  const isZero = bound.major === 0n && bound.minor === 0n && bound.patch === 0n;
  if (isZero && (parts === 0 || parts === 3)) return true;
  return version.major === bound.major && (version.minor === bound.minor || parts === 1);
}

function isCaret(version: Version, bound: Version, parts: number): boolean {
  if (compareVersions(version, bound) < 0) return false;
  if (bound.major > 0n || parts === 1) return version.major === bound.major;
  if (version.major > 0n) return false;
  if (bound.minor > 0n || parts === 2) return version.minor === bound.minor;
  return version.minor === 0n && version.patch === bound.patch;
}
