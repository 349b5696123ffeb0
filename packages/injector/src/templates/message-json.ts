import { clone, type DescMessage, equals, type Message, toJson } from "@bufbuild/protobuf";
import { DurationSchema } from "@bufbuild/protobuf/wkt";
import { defaultProxyConfig } from "@istiod/config-schema";
import { type ProxyConfig, ProxyConfigSchema } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { asObject, jsonObject } from "../go-types/json.js";

/** Returns a message in JSON as Go's `jsonpb` writes it: fields as declared, the keys of maps sorted. */
export function messageJson(schema: DescMessage, message: Message): string {
  const text = JSON.stringify(inOrder(schema, toJson(schema, message)));
  return text.replace(/[<>&\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Orders the members of a message's JSON as its fields are declared. */
function inOrder(schema: DescMessage, json: unknown): unknown {
  const object = asObject(json);
  if (object === undefined || schema.typeName.startsWith("google.protobuf.")) return json;
  const result = jsonObject();
  for (const field of schema.fields) {
    const value = object[field.jsonName];
    if (value === undefined) continue;
    const { message } = field;
    if (field.fieldKind === "map") result[field.jsonName] = sortedMap(value, message);
    else if (message === undefined) result[field.jsonName] = value;
    else
      result[field.jsonName] = Array.isArray(value)
        ? value.map((item) => inOrder(message, item))
        : inOrder(message, value);
  }
  return result;
}

function sortedMap(value: unknown, message: DescMessage | undefined): unknown {
  const entries = Object.entries(asObject(value) ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  return jsonObject(entries.map(([key, item]) => [key, message === undefined ? item : inOrder(message, item)]));
}

/** Returns a proxy configuration without what is the default, so that it takes little room in a Pod. */
export function withoutDefaults(config: ProxyConfig): ProxyConfig {
  const result = clone(ProxyConfigSchema, config);
  const defaults = defaultProxyConfig();
  for (const field of ["configPath", "binaryPath", "discoveryAddress"] as const)
    if (result[field] === defaults[field]) result[field] = "";
  for (const field of ["controlPlaneAuthPolicy", "proxyAdminPort", "statNameLength", "statusPort"] as const)
    if (result[field] === defaults[field]) result[field] = 0;
  if (result.clusterName.case === "serviceCluster" && result.clusterName.value === defaults.clusterName.value)
    result.clusterName = { case: undefined };
  for (const field of ["drainDuration", "terminationDrainDuration"] as const) {
    const [own, usual] = [result[field], defaults[field]];
    if (own !== undefined && usual !== undefined && equals(DurationSchema, own, usual)) delete result[field];
  }
  return result;
}
