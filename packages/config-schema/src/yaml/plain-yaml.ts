import { CORE_SCHEMA, load, type State, Type } from "js-yaml";
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

/** Numbers that JSON does not have; all others are resolved above. */
const noNumber = new Type("tag:yaml.org,2002:float", {
  kind: "scalar",
  resolve: (word: unknown) => typeof word === "string" && /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/.test(word),
  construct: (word: string) => (/nan$/i.test(word) ? Number.NaN : word.startsWith("-") ? -Infinity : Infinity),
});

const merge = new Type("tag:yaml.org,2002:merge", { kind: "scalar", resolve: (text: unknown) => text === "<<" });

const schema = CORE_SCHEMA.extend({ implicit: [boolean, number, noNumber, merge] });

/**
 * Anchors, tags, directives and colons before closing brackets, which need the other parser. Matches inside strings
 * cost time only.
 */
const notPlain = /(?:^|[\s,[{])[&!]\S|:[,\]}]|^%/m;

/**
 * Keys that are not text (lists, mappings, null) and numbers that JSON does not have, which the other parser reports.
 * Matches inside strings cost time only.
 */
const maybeNoJson = new RegExp(
  [
    /^[ \t]*(?:- +)*(?:\?(?:\s|$)|(?:(?:~|null|Null|NULL)[ \t]*)?:(?:\s|$))/,
    /[\]}][ \t]*:(?:\s|$)/,
    /[{,][ \t]*(?:\?(?:\s|$)|(?:(?:~|null|Null|NULL)[ \t]*)?:(?:\s|$))/,
    /(?:^|[\s,[{:-])[-+]?\.(?:inf|Inf|INF|nan|NaN|NAN)(?=$|[\s,\]}])/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "m",
);

/** Reports whether a document may have keys or numbers that JSON does not have. */
export function maybeHasNoJson(text: string): boolean {
  return maybeNoJson.test(text);
}

/** Reports whether a document has neither anchors, tags and directives nor colons that need the other parser. */
export function isPlainYaml(text: string): boolean {
  return !notPlain.test(text);
}

/**
 * Parses a document of plain YAML, about seven times as fast as the parser that keeps positions. Returns undefined for
 * other documents and for malformed ones. The result equals that of the other parser, except
 * for a block scalar that ends with the text, without a line break.
 */
export function parsePlainYaml(
  text: string,
  { allowsDuplicateKeys = false }: { readonly allowsDuplicateKeys?: boolean } = {},
): { readonly value: unknown } | undefined {
  if (!isPlainYaml(text)) return undefined;
  try {
    return { value: load(text, { schema, json: allowsDuplicateKeys }) ?? null };
  } catch {
    return undefined;
  }
}

/**
 * Parses a document that may have what looks like anchors and tags inside strings, as CEL rules of a
 * CustomResourceDefinition do. Returns undefined for documents with anchors, tags of their own and directives, and for
 * malformed ones.
 */
export function parseYamlWithoutAnchors(
  text: string,
  { allowsDuplicateKeys = false }: { readonly allowsDuplicateKeys?: boolean } = {},
): { readonly value: unknown } | undefined {
  if (/^%/m.test(text)) return undefined;
  const rejectAnchors = (event: string, state: State): void => {
    if (event === "close" && (state as AnchoredState).anchor != null) throw new Error("has anchors");
  };
  try {
    return { value: load(text, { schema, json: allowsDuplicateKeys, listener: rejectAnchors }) ?? null };
  } catch {
    return undefined;
  }
}

/** The parser's state has the anchor of the node that it reads, which its types do not declare. */
type AnchoredState = State & { readonly anchor?: string | null };
