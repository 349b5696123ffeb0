import { parseYaml } from "@istiod/config-schema";
import { sprint } from "@istiod/go-template";
import { InjectorError } from "../errors.js";
import { asObject, type JsonObject, jsonTypeOf } from "../go-types/json.js";

/** The installation's values that injection reads, and all of them for templates. */
export interface InjectorValues {
  /** All values, which templates read as `.Values`. */
  readonly all: JsonObject;
  readonly hub: string;
  readonly tag: string;
  /** Variant of images: `debug`, `distroless`, or empty. */
  readonly variant: string;
  readonly proxyImage: string;
  readonly proxyInitImage: string;
  readonly cluster: string;
  readonly network: string;
  readonly holdsApplication: boolean;
  readonly rewritesProbes: boolean;
}

/**
 * Parses the values of the ConfigMap `istio-sidecar-injector`, which are YAML or JSON.
 *
 * @throws InjectorError `config` if they are malformed
 */
export function parseValues(text: string): InjectorValues {
  const parsed = parseYaml({ text, line: 1 }, { allowsDuplicateKeys: true });
  if ("message" in parsed) throw fault(`line ${parsed.line}: ${parsed.message}`);
  const all = asObject(parsed.value ?? {});
  if (all === undefined) throw fault(`is ${jsonTypeOf(parsed.value)}, expected an object`);
  const string = (...path: readonly string[]): string => (at(all, path, "string") ?? "") as string;
  const boolean = (...path: readonly string[]): boolean => at(all, path, "boolean") === true;
  const tag = valueAt(all, ["global", "tag"]);
  return {
    all,
    hub: string("global", "hub"),
    tag: tag === undefined ? "" : sprint([tag as string | number | boolean]),
    variant: string("global", "variant"),
    proxyImage: string("global", "proxy", "image"),
    proxyInitImage: string("global", "proxy_init", "image"),
    cluster: string("global", "multiCluster", "clusterName"),
    network: string("global", "network"),
    holdsApplication: boolean("global", "proxy", "holdApplicationUntilProxyStarts"),
    rewritesProbes: boolean("sidecarInjectorWebhook", "rewriteAppHTTPProbe"),
  };
}

/** Returns the value at a path; undefined if it or a part of the path is absent or null. */
function valueAt(values: JsonObject, path: readonly string[]): unknown {
  let value: unknown = values;
  for (const [i, name] of path.entries()) {
    if (value === undefined || value === null) return undefined;
    const object = asObject(value);
    if (object === undefined) throw fault(`${path.slice(0, i).join(".")}: is ${jsonTypeOf(value)}, expected an object`);
    value = object[name];
  }
  return value ?? undefined;
}

function at(values: JsonObject, path: readonly string[], type: "string" | "boolean"): unknown {
  const value = valueAt(values, path);
  if (value !== undefined && typeof value !== type)
    throw fault(`${path.join(".")}: is ${jsonTypeOf(value)}, expected a ${type}`);
  return value;
}

const fault = (message: string): InjectorError =>
  new InjectorError("config", `could not parse configuration values: ${message}`);
