import { type ProxyConfig, ProxyConfigSchema } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { record } from "../decoding/json.js";
import type { Report } from "../decoding/report.js";
import { parseYaml } from "../yaml/yaml.js";
import { reportIneffectiveFields } from "../effect/ineffective-fields.js";
import { Place } from "../validation/place.js";
import { checkProxyConfig } from "./check-proxy-config.js";
import { mergeProxyConfig } from "./mesh-config.js";
import { defaultProxyConfig } from "./mesh-defaults.js";
import { decodeTolerantly } from "../decoding/decode-tolerantly.js";

/**
 * Decodes the annotation `proxy.istio.io/config`, which is YAML. Unknown fields are warnings. Returns undefined if it
 * reported an error.
 */
export function readProxyConfigAnnotation(value: string, report: Report): ProxyConfig | undefined {
  return decodeAnnotation(value, report)?.config;
}

/**
 * Returns a proxy configuration with the fields of the annotation `proxy.istio.io/config` set. Undefined if it reported
 * an error.
 */
export function applyProxyConfigAnnotation(
  base: ProxyConfig | undefined,
  value: string,
  report: Report,
): ProxyConfig | undefined {
  const given = decodeAnnotation(value, report);
  return given && mergeProxyConfig(base, given.config, given.json);
}

/** Validates the annotation `proxy.istio.io/config` with Istio's defaults applied. */
export function checkProxyConfigAnnotation(value: string, report: Report): void {
  const given = decodeAnnotation(value, report);
  if (given === undefined) return;
  checkProxyConfig(mergeProxyConfig(defaultProxyConfig(), given.config, given.json), Place.of(report, []));
}

interface DecodedAnnotation {
  readonly config: ProxyConfig;
  readonly json: Readonly<Record<string, unknown>>;
}

function decodeAnnotation(value: string, report: Report): DecodedAnnotation | undefined {
  const parsed = parseYaml({ text: value, line: 1 });
  if ("message" in parsed) {
    report.error([], `is not YAML: ${parsed.message}`);
    return undefined;
  }
  const json = parsed.value ?? {};
  const config = decodeTolerantly(ProxyConfigSchema, json, report);
  if (config !== undefined) reportIneffectiveFields(ProxyConfigSchema, config, report);
  return config && { config, json: record(json) ?? {} };
}
