import {
  anyMapType,
  anySliceType,
  anyType,
  boolType,
  type Functions,
  goFunction,
  GoList,
  GoMap,
  goValue,
  integerTypes,
  type MapKey,
  pointerTo,
  sliceOf,
  sprint,
  stringMapType,
  stringType,
  structType,
  type Value,
  variadicFunction,
} from "@istiod/go-template";
import { sprigFunctions } from "@istiod/go-template/sprig";
import type { MeshConfig } from "@istiod/istio-api/mesh/v1alpha1/config";
import { ProxyConfigSchema, type ProxyConfig } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { goDurationText } from "@istiod/settings";
import { applicationPorts, containerPorts } from "./container-ports.js";
import { messageJson, withoutDefaults } from "./message-json.js";
import { durationOf, messageOf } from "./message-value.js";
import { appendMultusNetwork } from "./multus-network.js";
import { otelResourceAttributes } from "./otel-resource-attributes.js";
import { plainJson } from "./plain-json.js";
import { yamlText } from "./yaml-text.js";

/** The outside world of templates. */
export interface FunctionOptions {
  /** Variables that `env` reads. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Milliseconds since the epoch, for the date functions of sprig. */
  readonly now: () => number;
}

/** Spaces that `indent` adds at most, so that a template cannot exhaust memory. */
const maxIndent = 1000;

const containersType = sliceOf(structType("v1.Container"));
const objectMetaType = structType("v1.ObjectMeta");

/**
 * Returns the functions of injection templates: sprig's, with Istio's over them (pkg/kube/inject/template.go).
 *
 * @param readJson applied to a text before it is read as JSON. Default: the text itself
 */
export function injectionFunctions(
  { environment, now }: FunctionOptions,
  readJson: (text: string) => string = (text) => text,
): Functions {
  const sprig = sprigFunctions({ now });
  const json = (value: Value): string => sprig["mustToJson"]?.call([value]) as string;
  return {
    ...sprig,
    ...sprigReaders(sprig, readJson),
    ...textFunctions(environment),
    ...jsonFunctions(json, readJson),
    ...mapFunctions,
    ...podFunctions,
  };
}

const textFunctions = (environment: FunctionOptions["environment"]): Functions => ({
  contains: goFunction([stringType, stringType], boolType, (needle, text) => text.includes(needle)),
  directory: goFunction([stringType], stringType, (path) => path.slice(0, path.lastIndexOf("/") + 1)),
  env: goFunction([stringType, stringType], stringType, (name, otherwise) => environment[name] || otherwise),
  excludeInterfaces: goFunction([stringType], stringType, (names) => names),
  formatDuration: goFunction([pointerTo("durationpb.Duration")], stringType, (value) =>
    goDurationText(durationOf(value)),
  ),
  indent: goFunction([integerTypes.int, stringType], stringType, (spaces, text) =>
    text.replaceAll("\n", `\n${" ".repeat(Math.max(0, Math.min(Number(spaces), maxIndent)))}`),
  ),
  kubevirtInterfaces: goFunction([stringType], stringType, (names) => names),
  toLower: goFunction([stringType], stringType, (text) => text.toLowerCase()),
  valueOrDefault: goFunction([anyType, anyType], anyType, (value, otherwise) =>
    value === null || value === "" ? otherwise : value,
  ),
});

/** Returns sprig's functions that read JSON. */
const sprigReaders = (sprig: Functions, readJson: (text: string) => string): Functions =>
  Object.fromEntries(
    ["fromJson", "mustFromJson"].map((name) => [
      name,
      goFunction([stringType], anyType, (text) => sprig[name]?.call([readJson(text)]) ?? null),
    ]),
  );

const jsonFunctions = (json: (value: Value) => string, readJson: (text: string) => string): Functions => ({
  // Texts that are no JSON give the text {}, as in Istio.
  fromJSON: goFunction([stringType], anyType, (text) => {
    try {
      return goValue(JSON.parse(readJson(text)));
    } catch {
      return "{}";
    }
  }),
  protoToJSON: goFunction([anyType], stringType, (value) => {
    const message = messageOf(value);
    if (message === undefined) return "{}";
    if (message.desc.typeName !== ProxyConfigSchema.typeName) return messageJson(message.desc, message.message);
    return messageJson(message.desc, withoutDefaults(message.message as ProxyConfig));
  }),
  structToJSON: goFunction([anyType], stringType, (value) => (value === null ? "{}" : json(value))),
  toJSON: goFunction([stringMapType], stringType, (map) => (map.isNil ? "{}" : json(map))),
  toJsonMap: variadicFunction([], stringMapType, stringType, (maps) => json(mergedMaps(maps))),
  toYaml: goFunction([anyType], stringType, (value) => yamlText(plainJson(value))),
});

const stringMap = (entries: Iterable<readonly [MapKey, Value]>): GoMap => new GoMap(stringMapType, entries);

/** Later maps win. Without any map, the result is nil. */
const mergedMaps = (maps: readonly GoMap[]): GoMap =>
  maps.length === 0 ? new GoMap(stringMapType, null) : stringMap(maps.flatMap(({ entries }) => [...entries]));

const mapFunctions: Functions = {
  isset: goFunction([stringMapType, stringType], boolType, (map, key) => map.entries.has(key)),
  mergeMaps: variadicFunction([], stringMapType, stringMapType, mergedMaps),
  omit: variadicFunction([stringMapType], stringType, stringMapType, (map, keys) =>
    stringMap([...map.entries].filter(([key]) => !keys.includes(String(key)))),
  ),
  omitNil: goFunction([anyType], anyType, withoutNil),
  strdict: variadicFunction([], stringType, stringMapType, (words) =>
    stringMap(words.flatMap((word, i) => (i % 2 === 0 ? [[word, words[i + 1] ?? ""] as const] : []))),
  ),
};

const podFunctions: Functions = {
  annotation: goFunction([objectMetaType, stringType, anyType], stringType, (meta, name, otherwise) => {
    const annotations = meta.fields.get("Annotations");
    const value = annotations instanceof GoMap ? annotations.entries.get(name) : undefined;
    return typeof value === "string" ? value : sprint([otherwise]);
  }),
  appendMultusNetwork: goFunction([stringType, stringType], stringType, appendMultusNetwork),
  applicationPorts: goFunction([containersType], stringType, applicationPorts),
  excludeInboundPort: goFunction([anyType, stringType], stringType, (port, ports) =>
    excludePort(sprint([port]), ports),
  ),
  includeInboundPorts: goFunction([containersType], stringType, containerPorts),
  otelResourceAttributes: goFunction(
    [pointerTo("v1alpha1.MeshConfig"), stringMapType, stringMapType, stringType, containersType],
    stringType,
    (mesh, annotations, labels, namespace, containers) =>
      otelResourceAttributes(messageOf(mesh)?.message as MeshConfig | undefined, {
        annotations: annotations.entries,
        labels: labels.entries,
        namespace,
        containers,
      }),
  ),
};

/** Adds a port to a list of ports, unless it is there, empty or 0. */
function excludePort(port: string, ports: string): string {
  const added = port.trim();
  const listed = ports.split(",");
  if (added === "" || added === "0" || listed.includes(added)) return ports;
  return [...listed.map((item) => item.trim()).filter((item) => item !== ""), added].join(",");
}

/** Removes nils from maps and lists; what becomes empty by that is nil too. */
function withoutNil(value: Value): Value {
  if (value instanceof GoMap && value.type.name === anyMapType.name) {
    const kept = [...value.entries].map(([key, item]) => [key, withoutNil(item)] as const);
    if (kept.every(([key, item]) => item !== null && item === value.entries.get(key))) return value;
    const entries = kept.filter(([, item]) => item !== null);
    return entries.length === 0 ? null : new GoMap(anyMapType, entries);
  }
  if (value instanceof GoList && value.type.name === anySliceType.name) {
    const kept = value.items.map(withoutNil);
    if (kept.every((item, i) => item !== null && item === value.items[i])) return value;
    const items = kept.filter((item) => item !== null);
    return items.length === 0 ? null : new GoList(anySliceType, items);
  }
  return value;
}
