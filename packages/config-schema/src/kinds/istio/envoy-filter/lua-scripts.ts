import { luaFault } from "../../../validation/lua/lua.js";
import type { Place } from "../../../validation/place.js";

/** The fields with code of Envoy's messages, each a text, a source (`DataSource`), or a map of sources. */
const codeFields: Readonly<Record<string, readonly string[]>> = {
  "envoy.extensions.filters.http.lua.v3.Lua": ["inline_code", "default_source_code", "source_codes"],
  "envoy.extensions.filters.http.lua.v3.LuaPerRoute": ["source_code"],
  "envoy.extensions.router.cluster_specifiers.lua.v3.LuaConfig": ["source_code"],
  "envoy.extensions.string_matcher.lua.v3.Lua": ["source_code"],
};

/** Messages that carry another one as a structure, which Envoy converts to its type. */
const typedStructs: ReadonlySet<string> = new Set(["xds.type.v3.TypedStruct", "udpa.type.v1.TypedStruct"]);

type Fields = Readonly<Record<string, unknown>>;

/** Patches with deeper values have no effect. */
const maxDepth = 64;

/** Checks the scripts in the packed messages of a value, in its JSON form: Envoy must be able to compile them. */
export function checkLuaScripts(value: unknown, place: Place, depth = 0): void {
  if (depth > maxDepth) return;
  if (Array.isArray(value)) return value.forEach((item: unknown, n) => checkLuaScripts(item, place.at(n), depth + 1));
  const fields = fieldsOf(value);
  if (fields === undefined) return;
  for (const [name, item] of Object.entries(fields)) checkLuaScripts(item, place.at(name), depth + 1);
  const type = messageName(fields["@type"]);
  if (!typedStructs.has(type)) return checkMessage(type, fields, place);
  checkMessage(messageName(fieldNamed(fields, "type_url")?.value), fieldsOf(fields["value"]) ?? {}, place.at("value"));
}

function checkMessage(type: string, fields: Fields, place: Place): void {
  if (!Object.hasOwn(codeFields, type)) return;
  for (const name of codeFields[type] ?? []) {
    const field = fieldNamed(fields, name);
    if (field === undefined) continue;
    const at = place.at(field.name);
    if (name !== "source_codes") checkCode(field.value, at);
    else for (const [key, source] of Object.entries(fieldsOf(field.value) ?? {})) checkCode(source, at.at(key));
  }
}

/** Checks a text or a source. Files and variables of the environment are read by the proxy alone. */
function checkCode(code: unknown, place: Place): void {
  if (typeof code === "string") return checkScript(code, place);
  const text = fieldNamed(fieldsOf(code) ?? {}, "inline_string");
  if (typeof text?.value === "string") checkScript(text.value, place.at(text.name));
  const bytes = fieldNamed(fieldsOf(code) ?? {}, "inline_bytes");
  if (typeof bytes?.value === "string")
    checkScript(Buffer.from(bytes.value, "base64").toString(), place.at(bytes.name));
}

function checkScript(script: string, place: Place): void {
  const fault = luaFault(script);
  if (fault !== undefined) place.error(fault);
}

function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
}

/** Returns a field by its name or its name in JSON. */
function fieldNamed(fields: Fields, name: string): { readonly name: string; readonly value: unknown } | undefined {
  const jsonName = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const found = [name, jsonName].find((one) => Object.hasOwn(fields, one));
  return found === undefined ? undefined : { name: found, value: fields[found] };
}

function messageName(url: unknown): string {
  return typeof url === "string" ? url.slice(url.lastIndexOf("/") + 1) : "";
}
