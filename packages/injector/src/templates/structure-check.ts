import { fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import { type ProxyConfig, ProxyConfigSchema } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { InjectorError } from "../errors.js";
import { asObject, type JsonObject, jsonObject } from "../go-types/json.js";
import { annotationsOf, displayName } from "../pod-fields.js";
import type { GatewayTemplateInput } from "./gateway-data.js";
import type { TemplateInput } from "./template-data.js";

/*
 * Templates print values of pods into YAML, and not all of them quote what they print. A value with a line break or a
 * quote could then add fields, containers or mounts. A template is therefore rendered again for a pod whose values have
 * letters in place of such characters: both results must have the same objects and lists. See docs/design/027.
 */

/** Characters that can end a scalar of YAML or begin another construct, where they can do so. */
const structural = /[\p{Cc}"'\\{}[\]\u2028\u2029]|:(?=\s|$)|(?<=^|\s)#|^\s*[-?](?=\s|$)|^\s*[&*!|>%@`]/gu;
const filler = "x";

/** Input with neutral strings, and the strings that they stand for. */
export interface NeutralData<T> {
  readonly input: T;
  readonly originals: ReadonlyMap<string, string>;
}

/** Gives functions that read JSON the text that a neutral string stands for. */
export interface NeutralReader {
  originals: ReadonlyMap<string, string>;
  readonly read: (text: string) => string;
}

/** Returns the input with neutral strings in place of a user's; undefined if they already are. */
export function neutralData(input: TemplateInput): NeutralData<TemplateInput> | undefined {
  const { pod, workload, workloadType, proxyConfig } = input;
  const texts = { pod: { metadata: pod["metadata"], spec: pod["spec"] }, workload, workloadType };
  return neutralized(input, texts, proxyConfig);
}

/** Returns the input of a gateway's template with neutral strings; undefined if they already are. */
export function neutralGatewayData(input: GatewayTemplateInput): NeutralData<GatewayTemplateInput> | undefined {
  const { metadata, gatewayClass, deploymentName, serviceAccount, ports, serviceType, addresses } = input;
  const { infrastructureLabels, infrastructureAnnotations, proxyImage, agentgatewayImage, proxyConfig } = input;
  const others = { infrastructureLabels, infrastructureAnnotations, agentgatewayImage };
  const texts = { metadata, gatewayClass, deploymentName, serviceAccount, ports, serviceType, addresses, proxyImage };
  return neutralized(input, { ...texts, ...others }, proxyConfig);
}

function neutralized<T extends { readonly proxyConfig: ProxyConfig }>(
  input: T,
  texts: Partial<T>,
  proxyConfig: ProxyConfig,
): NeutralData<T> | undefined {
  const originals = new Map<string, string>();
  const neutralize = (text: string): string => {
    const neutral = neutralText(text);
    if (neutral !== text) originals.set(neutral, text);
    return neutral;
  };
  const neutralTexts = mapStrings(texts, neutralize) as Partial<T>;
  const before = originals.size;
  const neutralConfig = mapStrings(toJson(ProxyConfigSchema, proxyConfig), neutralize) as JsonValue;
  if (originals.size === 0) return undefined;
  const config = originals.size === before ? proxyConfig : fromJson(ProxyConfigSchema, neutralConfig);
  return { originals, input: { ...input, ...neutralTexts, proxyConfig: config } };
}

/** Returns a reader without originals. */
export function neutralReader(): NeutralReader {
  const reader: NeutralReader = {
    originals: new Map(),
    read(text) {
      const original = reader.originals.get(text);
      if (original === undefined) return text;
      try {
        return JSON.stringify(mapStrings(JSON.parse(original), neutralText));
      } catch {
        return text;
      }
    },
  };
  return reader;
}

/**
 * Compares a template's output with its output for neutral strings.
 *
 * @param object whose values the template prints, a Pod or a Gateway
 * @throws InjectorError `template` if they differ in structure
 */
export function checkStructure(
  template: string,
  output: unknown,
  renderNeutral: () => unknown,
  { originals }: Pick<NeutralData<unknown>, "originals">,
  object: JsonObject,
): void {
  const place = difference(output, renderNeutral(), "");
  if (place === undefined) return;
  const suspects = Object.entries(annotationsOf(object)).filter(([, value]) => originals.has(neutralText(value)));
  const names = suspects.map(([name]) => name).join(", ");
  throw new InjectorError(
    "template",
    `${displayName(object)}: a value changes the structure of template ${template}'s output at ${place || "its root"}: ` +
      `it has quotes, line breaks or other characters of YAML that the template does not quote` +
      (names === "" ? "" : ` (annotations with such characters: ${names})`),
  );
}

const neutralText = (text: string): string => text.replace(structural, (found) => filler.repeat(found.length));

/** Returns the path of the first difference in structure; undefined if there is none. */
function difference(actual: unknown, neutral: unknown, place: string): string | undefined {
  if (Array.isArray(actual) && Array.isArray(neutral)) {
    if (actual.length !== neutral.length) return place;
    return first(actual.map((item, i) => () => difference(item, neutral[i], `${place}[${i}]`)));
  }
  const [object, other] = [asObject(actual), asObject(neutral)];
  if (object === undefined || other === undefined) return jsonShape(actual) === jsonShape(neutral) ? undefined : place;
  const neutralKeys = new Map(Object.keys(other).map((key) => [comparable(key), key]));
  const keys = Object.keys(object);
  if (keys.length !== Object.keys(other).length || !keys.every((key) => neutralKeys.has(comparable(key)))) return place;
  return first(
    keys.map((key) => () => {
      const neutralKey = neutralKeys.get(comparable(key)) ?? key;
      return difference(object[key], other[neutralKey], place === "" ? key : `${place}.${key}`);
    }),
  );
}

function first(checks: readonly (() => string | undefined)[]): string | undefined {
  for (const check of checks) {
    const place = check();
    if (place !== undefined) return place;
  }
  return undefined;
}

/** Returns a key with the filler in place of all characters that may be neutral on one side only. */
const comparable = (key: string): string => key.replace(/[^\w./-]|^\s*-/gu, filler).trim();

const jsonShape = (value: unknown): string =>
  Array.isArray(value) ? "list" : value === null ? "null" : typeof value === "object" ? "object" : "scalar";

/** Returns JSON with all strings replaced, also those that are keys. */
function mapStrings(value: unknown, replace: (text: string) => string): unknown {
  if (typeof value === "string") return replace(value);
  if (Array.isArray(value)) return value.map((item) => mapStrings(item, replace));
  const object = asObject(value);
  if (object === undefined) return value;
  return jsonObject(Object.entries(object).map(([key, item]) => [replace(key), mapStrings(item, replace)] as const));
}
