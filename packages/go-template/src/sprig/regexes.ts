import { reasonOf } from "@istiod/runtime";
import { RE2JS, type Matcher } from "re2js";
import { checkLength, spend } from "../budget.js";
import { type Functions, goFunction } from "../functions.js";
import type { GoFunction } from "../values/values.js";
import { boolType, integerTypes, stringSliceType, stringType } from "../values/known-types.js";
import type { GoType } from "../values/types.js";
import { GoList, type Value } from "../values/values.js";

const text = stringType;
const { int } = integerTypes;

/** Functions of regular expressions, in RE2's syntax and time. */
export const regexFunctions: Functions = {
  regexMatch: goFunction([text, text], boolType, (pattern, value) => {
    try {
      return compile(pattern).matcher(value).find();
    } catch {
      return false;
    }
  }),
  mustRegexMatch: goFunction([text, text], boolType, (pattern, value) => compile(pattern).matcher(value).find()),
  ...both("regexFind", [text, text], text, (regex, value) => findAll(regex, String(value), 1)[0]?.text ?? ""),
  ...both("regexFindAll", [text, text, int], stringSliceType, (regex, value, count) => {
    const matches = findAll(regex, String(value), Number(count));
    return strings(matches.length === 0 ? null : matches.map((match) => match.text));
  }),
  ...both("regexReplaceAll", [text, text, text], text, (regex, value, replacement) =>
    replaceAll(regex, String(value), (match) => expand(String(replacement), match, regex)),
  ),
  ...both("regexReplaceAllLiteral", [text, text, text], text, (regex, value, replacement) =>
    replaceAll(regex, String(value), () => String(replacement)),
  ),
  ...both("regexSplit", [text, text, int], stringSliceType, (regex, value, count) =>
    strings(split(regex, String(value), Number(count))),
  ),
  regexQuoteMeta: goFunction([text], text, (value) => value.replace(/[\\.+*?()|[\]{}^$]/g, "\\$&")),
};

const strings = (items: readonly string[] | null): GoList => new GoList(stringSliceType, items);

/** Declares a function whose first argument is a pattern, and its `must` variant, which words errors differently. */
function both<R extends Value>(
  name: string,
  [first, ...others]: readonly [GoType<string>, ...GoType[]],
  result: GoType<R>,
  call: (regex: RE2JS, ...args: unknown[]) => R,
): Record<string, GoFunction> {
  const declare = (read: (pattern: string) => RE2JS): GoFunction =>
    goFunction<GoType[], R>([first, ...others], result, (pattern, ...args) => call(read(String(pattern)), ...args));
  return {
    [name]: declare((pattern) => compile(pattern, (quoted) => `regexp: Compile(${quoted}): `)),
    [`must${name.charAt(0).toUpperCase()}${name.slice(1)}`]: declare((pattern) => compile(pattern)),
  };
}

function compile(pattern: string, prefix: (quoted: string) => string = () => ""): RE2JS {
  spend(1 + Math.floor(pattern.length / 16));
  try {
    return RE2JS.compile(pattern);
  } catch (cause) {
    const message = reasonOf(cause);
    throw new Error(prefix(pattern.includes("`") ? JSON.stringify(pattern) : `\`${pattern}\``) + message, { cause });
  }
}

/** A search costs about as much as this many steps of a template. */
const stepsPerMatch = 10;

interface Match {
  readonly text: string;
  readonly start: number;
  readonly end: number;
  readonly groups: readonly string[];
}

/** Returns the first matches that do not overlap; all if the count is negative. */
function findAll(regex: RE2JS, value: string, count: number): readonly Match[] {
  spend(1 + Math.floor(value.length / 16));
  const matches: Match[] = [];
  const matcher = regex.matcher(value);
  let previousEnd = -1;
  let position = 0;
  while (position <= value.length && (count < 0 || matches.length < count) && matcher.find(position)) {
    spend(stepsPerMatch);
    const match = matchOf(matcher);
    const isEmpty = match.start === match.end;
    if (!isEmpty || match.start !== previousEnd) matches.push(match);
    previousEnd = match.end;
    position = isEmpty ? match.end + characterLength(value, match.end) : match.end;
  }
  return matches;
}

const characterLength = (value: string, position: number): number =>
  (value.codePointAt(position) ?? 0) > 0xffff ? 2 : 1;

function matchOf(matcher: Matcher): Match {
  const groups = Array.from({ length: matcher.groupCount() + 1 }, (_, i) => matcher.group(i) ?? "");
  return { text: groups[0] ?? "", start: matcher.start(), end: matcher.end(), groups };
}

function replaceAll(regex: RE2JS, value: string, replacement: (match: Match) => string): string {
  let output = "";
  let position = 0;
  for (const match of findAll(regex, value, -1)) {
    output += value.slice(position, match.start) + replacement(match);
    checkLength(output.length);
    position = match.end;
  }
  return output + value.slice(position);
}

/** Replaces `$1`, `${1}`, `$name` and `${name}` by the groups of a match. */
function expand(template: string, { groups }: Match, regex: RE2JS): string {
  const names = regex.namedGroups();
  return template.replace(/\$(?:\$|\{([\p{L}\p{Nd}_]+)\}|([\p{L}\p{Nd}_]+))/gu, (_whole, braced, bare) => {
    const name: unknown = braced ?? bare;
    if (typeof name !== "string") return "$";
    const index = /^(?:0|[1-9][0-9]*)$/.test(name)
      ? Number(name)
      : Object.hasOwn(names, name)
        ? names[name]
        : undefined;
    return index === undefined ? "" : (groups[index] ?? "");
  });
}

function split(regex: RE2JS, value: string, count: number): readonly string[] | null {
  if (count === 0) return null;
  if (value === "" && regex.pattern() !== "") return [""];
  const parts: string[] = [];
  let begin = 0;
  let end = 0;
  for (const match of findAll(regex, value, count)) {
    if (count > 0 && parts.length === count - 1) break;
    end = match.start;
    if (match.end !== 0) parts.push(value.slice(begin, end));
    begin = match.end;
  }
  if (end !== value.length) parts.push(value.slice(begin));
  return parts;
}
