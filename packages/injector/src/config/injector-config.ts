import { parseYaml } from "@istiod/config-schema";
import type { InjectionPolicy } from "../decide-injection.js";
import { InjectorError } from "../errors.js";
import { asObject, type JsonObject, jsonObject, jsonTypeOf } from "../go-types/json.js";
import type { LabelSelector } from "../label-selector.js";
import { type FunctionOptions } from "../templates/functions.js";
import { InjectionTemplate } from "../templates/injection-template.js";

/** The configuration of injection, as in `config` of the ConfigMap `istio-sidecar-injector`. */
export interface InjectorConfig extends InjectionPolicy {
  readonly templates: ReadonlyMap<string, InjectionTemplate>;
  /** Templates of pods that choose none. */
  readonly defaultTemplates: readonly string[];
  /** Names that stand for several templates. */
  readonly aliases: Readonly<Record<string, readonly string[]>>;
  /** Annotations that every injected pod gets. */
  readonly injectedAnnotations: Readonly<Record<string, string>>;
  readonly neverInjectSelector: readonly LabelSelector[];
  readonly alwaysInjectSelector: readonly LabelSelector[];
}

/**
 * Parses the configuration of injection and its templates.
 *
 * @throws InjectorError `config` if it is malformed, with the template that is not one
 */
export function parseInjectorConfig(text: string, options: FunctionOptions): InjectorConfig {
  const parsed = parseYaml({ text, line: 1 }, { allowsDuplicateKeys: true });
  if ("message" in parsed) throw fault(`line ${parsed.line}: ${parsed.message}`);
  const object = asObject(parsed.value ?? {});
  if (object === undefined) throw fault(`is ${jsonTypeOf(parsed.value)}, expected an object`);
  const defaultTemplates = strings(object, "defaultTemplates");
  return {
    policy: string(object, "policy") as InjectionPolicy["policy"],
    templates: parseTemplates(stringMap(object, "templates"), options),
    defaultTemplates: defaultTemplates.length > 0 ? defaultTemplates : ["sidecar"],
    aliases: aliasesOf(object),
    injectedAnnotations: stringMap(object, "injectedAnnotations"),
    neverInjectSelector: selectors(object, "neverInjectSelector"),
    alwaysInjectSelector: selectors(object, "alwaysInjectSelector"),
  };
}

/**
 * Parses the templates of a file of `kube-inject`: a configuration of injection, or the text of the template `sidecar`.
 *
 * @throws InjectorError `config` if it is malformed
 */
export function parseInjectionTemplates(text: string, options: FunctionOptions): InjectorConfig["templates"] {
  const parsed = parseYaml({ text, line: 1 }, { allowsDuplicateKeys: true });
  const object = "message" in parsed ? undefined : asObject(parsed.value);
  const templates = asObject(object?.["templates"]);
  if (templates === undefined || Object.keys(templates).length === 0) return parseTemplates({ sidecar: text }, options);
  return parseInjectorConfig(text, options).templates;
}

function parseTemplates(
  sources: Readonly<Record<string, string>>,
  options: FunctionOptions,
): ReadonlyMap<string, InjectionTemplate> {
  return new Map(Object.entries(sources).map(([name, source]) => [name, new InjectionTemplate(name, source, options)]));
}

function string(object: JsonObject, name: string): string {
  const value = object[name] ?? "";
  if (typeof value !== "string") throw expected(name, value, "a string");
  return value;
}

function strings(object: JsonObject, name: string): readonly string[] {
  const value = object[name] ?? [];
  if (!Array.isArray(value)) throw expected(name, value, "a list");
  return value.map((item: unknown, i) => {
    if (typeof item !== "string") throw expected(`${name}[${i}]`, item, "a string");
    return item;
  });
}

function stringMap(object: JsonObject, name: string): Readonly<Record<string, string>> {
  const map = mapAt(object, name);
  for (const [key, value] of Object.entries(map))
    if (typeof value !== "string") throw expected(`${name}.${key}`, value, "a string");
  return map as Record<string, string>;
}

function aliasesOf(object: JsonObject): Readonly<Record<string, readonly string[]>> {
  const map = mapAt(object, "aliases");
  return Object.assign(jsonObject(), Object.fromEntries(Object.keys(map).map((key) => [key, strings(map, key)])));
}

function selectors(object: JsonObject, name: string): readonly LabelSelector[] {
  const value = object[name] ?? [];
  if (!Array.isArray(value)) throw expected(name, value, "a list");
  return value.map((item: unknown, i) => {
    const selector = asObject(item ?? {});
    if (selector === undefined) throw expected(`${name}[${i}]`, item, "a label selector");
    const { matchLabels, matchExpressions } = selector;
    return {
      ...(asObject(matchLabels) && { matchLabels }),
      ...(Array.isArray(matchExpressions) && { matchExpressions }),
    } as LabelSelector;
  });
}

function mapAt(object: JsonObject, name: string): JsonObject {
  const map = asObject(object[name] ?? {});
  if (map === undefined) throw expected(name, object[name], "an object");
  return map;
}

const expected = (place: string, value: unknown, type: string): InjectorError =>
  fault(`${place}: is ${jsonTypeOf(value)}, expected ${type}`);

const fault = (message: string): InjectorError =>
  new InjectorError("config", `failed to unmarshal injection template: ${message}`);
