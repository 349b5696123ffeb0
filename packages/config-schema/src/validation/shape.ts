import { describe } from "../decoding/fields.js";
import { record } from "../decoding/json.js";
import type { Place } from "./place.js";

/** A rule on a JSON value that is present. Types are checked elsewhere: a rule ignores values of other types. */
export type ShapeRule = (value: unknown, place: Place) => void;

/**
 * Constraints of a custom resource's schema beyond its messages' types, by path: `ports[].name` is a field of each
 * element of a list, `labels.*` each value of a map, and the empty path the whole spec.
 */
export type Shape = Readonly<Record<string, ShapeRule | readonly ShapeRule[]>>;

/** Compiles a shape into a check of a spec in its JSON form. An absent field satisfies all of its rules. */
export function shapeCheck(shape: Shape): (spec: unknown, place: Place) => void {
  const rulesByPath = Object.entries(shape).map(([path, rules]) => ({
    steps: path === "" ? [] : path.replaceAll("[]", ".[]").split("."),
    rules: typeof rules === "function" ? [rules] : rules,
  }));
  return (spec, place) => {
    for (const { steps, rules } of rulesByPath) visit({ steps, rules, place, path: [] }, 0, spec);
  };
}

interface Visit {
  readonly steps: readonly string[];
  readonly rules: readonly ShapeRule[];
  /** The spec. */
  readonly place: Place;
  /** Path of the value that is visited, from the spec. */
  readonly path: (string | number)[];
}

function visit(visited: Visit, at: number, value: unknown): void {
  if (value === undefined || value === null) return;
  const { steps, rules, place, path } = visited;
  const step = steps[at];
  if (step === undefined) {
    const found = place.at(...path);
    for (const rule of rules) rule(value, found);
  } else if (step === "[]") {
    if (!Array.isArray(value)) return;
    for (let i = 0; i < value.length; i++) descend(visited, at, i, value[i]);
  } else {
    const fields = record(value);
    if (fields === undefined) return;
    if (step === "*") for (const [key, item] of Object.entries(fields)) descend(visited, at, key, item);
    else if (fields[step] !== undefined) descend(visited, at, step, fields[step]);
  }
}

function descend(visited: Visit, at: number, step: string | number, value: unknown): void {
  visited.path.push(step);
  visit(visited, at + 1, value);
  visited.path.pop();
}

/** Requires fields that are present and not null. */
export function required(...names: readonly string[]): ShapeRule {
  return (value, place) => {
    const fields = record(value) ?? {};
    for (const name of names)
      if (fields[name] === undefined || fields[name] === null) place.at(name).error("is missing, expected a value");
  };
}

/** Allows at most one of several fields. */
export function atMostOne(...names: readonly string[]): ShapeRule {
  return (value, place) => {
    const fields = record(value) ?? {};
    const present = names.filter((name) => fields[name] !== undefined && fields[name] !== null);
    const [first, second] = present;
    if (first !== undefined && second !== undefined)
      place.at(second).error(`is set together with ${first}, expected only one of them`);
  };
}

/** Bounds the characters of a string, the elements of a list or the entries of a map. */
export function size(least: number, most: number): ShapeRule {
  return (value, place) => {
    const count =
      typeof value === "string"
        ? [...value].length
        : Array.isArray(value)
          ? value.length
          : Object.keys(record(value) ?? {}).length;
    const unit = typeof value === "string" ? "characters" : Array.isArray(value) ? "elements" : "entries";
    if (count < least)
      place.error(count === 0 ? "is empty, expected a value" : `has ${count} ${unit}, expected at least ${least}`);
    if (count > most) place.error(`has ${count} ${unit}, expected at most ${most}`);
  };
}

export const notEmpty = size(1, Number.POSITIVE_INFINITY);

export function atMost(most: number): ShapeRule {
  return size(0, most);
}

export function range(least: number, most: number): ShapeRule {
  return (value, place) => {
    if (typeof value === "number" && !(value >= least && value <= most))
      place.error(`is ${value}, expected ${least} to ${most === Number.POSITIVE_INFINITY ? "any" : most}`);
  };
}

export function matches(pattern: RegExp, expected: string): ShapeRule {
  return (value, place) => {
    if (typeof value === "string" && !pattern.test(value)) place.error(`is ${describe(value)}, expected ${expected}`);
  };
}

/** Requires the elements of a list to differ in a field. */
export function uniqueBy(name: string): ShapeRule {
  return (value, place) => {
    const seen = new Set<unknown>();
    if (!Array.isArray(value)) return;
    value.forEach((item: unknown, i) => {
      const key = record(item)?.[name];
      if (key !== undefined && seen.has(key))
        place.at(i, name).error(`is ${describe(key)} a second time, expected unique values`);
      seen.add(key);
    });
  };
}

export const port = range(1, 65535);
