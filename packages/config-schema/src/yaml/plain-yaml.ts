import { CORE_SCHEMA, load, Type } from "js-yaml";
import { plainBoolean, plainNumber } from "./plain-scalars.js";

const boolean = new Type("tag:yaml.org,2002:bool", {
  kind: "scalar",
  resolve: (word: unknown) => typeof word === "string" && plainBoolean(word) !== undefined,
  construct: plainBoolean,
});

const number = new Type("tag:yaml.org,2002:int", {
  kind: "scalar",
  resolve: (word: unknown) => typeof word === "string" && plainNumber(word) !== undefined,
  construct: plainNumber,
});

/** Numbers are all read as above; what is left are those that JSON does not have. */
const noNumber = new Type("tag:yaml.org,2002:float", {
  kind: "scalar",
  resolve: (word: unknown) => typeof word === "string" && /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/.test(word),
  construct: (word: string) => (/nan$/i.test(word) ? Number.NaN : word.startsWith("-") ? -Infinity : Infinity),
});

const merge = new Type("tag:yaml.org,2002:merge", { kind: "scalar", resolve: (text: unknown) => text === "<<" });

const schema = CORE_SCHEMA.extend({ implicit: [boolean, number, noNumber, merge] });

/**
 * Anchors, tags, directives and colons before closing brackets: what needs the other parser. Also found inside texts,
 * which costs time only.
 */
const notPlain = /(?:^|[\s,[{])[&!]\S|:[,\]}]|^%/m;

/**
 * The value of a document that uses nothing but plain YAML, about seven times as fast as the parser that keeps
 * positions; undefined for any other document, and for one that is not well formed. Where a value is given it is the
 * same one.
 */
export function readPlainly(text: string): { readonly value: unknown } | undefined {
  if (notPlain.test(text)) return undefined;
  try {
    return { value: load(text, { schema }) ?? null };
  } catch {
    return undefined;
  }
}
