import { checkLength, spend } from "../budget.js";
import { isFunction, typeOf } from "../values/type-of.js";
import { isSignedKind } from "../values/types.js";
import { GoInteger, GoList, GoMap, type MapKey, GoPointer, GoStruct, type Value } from "../values/values.js";
import { compareStrings } from "../values/strings.js";
import { type Directive, pad, plainDirective } from "./directive.js";
import { boolText, floatText, hexText, integerText, stringText } from "./scalar-text.js";

const nothing = "<nil>";
const defaultDirective = plainDirective("v");

/** Returns a value as Go prints it with `%v`. */
export const defaultText = (value: Value): string =>
  typeof value === "string" ? value : valueText(value, defaultDirective);

/** Returns a value as Go prints it with a verb. */
export function valueText(value: Value, directive: Directive): string {
  const { verb } = directive;
  if (value === null) return verb === "v" || verb === "T" ? pad(nothing, directive) : badVerb(value, directive);
  if (verb === "w") return badVerb(value, directive);
  if (verb === "T") return pad(typeOf(value).name, directive);
  return nestedText(value, directive, 0);
}

/** Returns the keys of a map in the order in which Go prints and ranges over them. */
export const sortedKeys = ({ entries }: GoMap): readonly MapKey[] => {
  spend(entries.size);
  return [...entries.keys()].sort(compareKeys);
};

const compareKeys = (a: MapKey, b: MapKey): number =>
  typeof a === "string" && typeof b === "string" ? compareStrings(a, b) : a < b ? -1 : a > b ? 1 : 0;

function nestedText(value: Exclude<Value, null>, directive: Directive, depth: number): string {
  spend(1);
  const text = scalarText(value, directive) ?? compositeText(value, directive, depth);
  if (text === undefined) return badVerb(value, directive);
  checkLength(text.length);
  return text;
}

function scalarText(value: Exclude<Value, null>, directive: Directive): string | undefined {
  switch (typeof value) {
    case "boolean":
      return boolText(value, directive);
    case "string":
      return stringText(value, directive);
    case "number":
      return floatText(value, directive);
    case "bigint":
      return integerText(value, true, directive);
    default:
      return value instanceof GoInteger ? integerText(value.value, isSignedKind(value.kind), directive) : undefined;
  }
}

function compositeText(value: Exclude<Value, null>, directive: Directive, depth: number): string | undefined {
  if (value instanceof GoList) return listText(value, directive, depth);
  if (value instanceof GoMap) return mapText(value, directive, depth);
  if (value instanceof GoStruct) return structText(value, directive, depth);
  if (value instanceof GoPointer) return pointerText(value, directive, depth);
  // Go prints the address, which differs from run to run.
  return isFunction(value) ? pad("0xc000000000", directive) : undefined;
}

function elementText(value: Value, directive: Directive, depth: number): string {
  if (value !== null) return nestedText(value, directive, depth + 1);
  return directive.sharpV ? "interface {}(nil)" : nothing;
}

function listText(list: GoList, directive: Directive, depth: number): string {
  if (list.type.element?.kind === "uint8" && ["s", "q", "x", "X"].includes(directive.verb)) {
    const bytes = Buffer.from(list.items.map((item) => (item instanceof GoInteger ? Number(item.value) : 0)));
    return directive.verb === "x" || directive.verb === "X"
      ? hexText(bytes, directive)
      : (stringText(bytes.toString(), directive) ?? "");
  }
  if (directive.sharpV && list.isNil) return `${list.type.name}(nil)`;
  const items = list.items.map((item) => elementText(item, directive, depth));
  return directive.sharpV ? `${list.type.name}{${items.join(", ")}}` : `[${items.join(" ")}]`;
}

function mapText(map: GoMap, directive: Directive, depth: number): string {
  if (directive.sharpV && map.isNil) return `${map.type.name}(nil)`;
  const entries = sortedKeys(map).map(
    (key) => `${elementText(key, directive, depth)}:${elementText(map.entries.get(key) ?? null, directive, depth)}`,
  );
  return directive.sharpV ? `${map.type.name}{${entries.join(", ")}}` : `map[${entries.join(" ")}]`;
}

/** Reports whether a verb prints the text of a value that has one (`String()`). */
const hasText = ({ verb, sharpV }: Directive): boolean => "vsxXq".includes(verb) && !sharpV;

function structText({ type, fields, text }: GoStruct, directive: Directive, depth: number): string {
  if (text !== undefined && hasText(directive)) return stringText(text(), directive) ?? "";
  const named = directive.sharpV || directive.plusV;
  const parts = [...fields].map(([name, value]) => `${named ? `${name}:` : ""}${elementText(value, directive, depth)}`);
  return directive.sharpV ? `${type.name}{${parts.join(", ")}}` : `{${parts.join(" ")}}`;
}

function pointerText({ type, target }: GoPointer, directive: Directive, depth: number): string | undefined {
  if (target === null) return directive.sharpV ? `(${type.name})(nil)` : pad(nothing, directive);
  if (target.text !== undefined && hasText(directive)) return stringText(target.text(), directive) ?? "";
  if (depth === 0) return `&${nestedText(target, directive, depth + 1)}`;
  return "vbodxX".includes(directive.verb) ? pad("0xc000000000", directive) : undefined;
}

function badVerb(value: Value, directive: Directive): string {
  const verb = `%!${directive.verb}`;
  if (value === null) return `${verb}(${nothing})`;
  return `${verb}(${typeOf(value).name}=${valueText(value, { ...directive, verb: "v" })})`;
}
