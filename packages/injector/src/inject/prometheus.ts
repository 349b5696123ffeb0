import type { MeshConfig } from "@istiod/istio-api/mesh/v1alpha1/config";
import { parseGoBoolean } from "@istiod/settings";
import { InjectorError } from "../errors.js";
import type { JsonObject } from "../go-types/json.js";
import { encodeAny } from "../go-types/encode.js";
import { annotationsOf, appendVariables, findContainer, proxyContainer, writableMap } from "../pod-fields.js";

/** Annotations of Prometheus, as Prometheus spells them: any character but letters and digits is `_`. */
const names = {
  scrape: "prometheus_io_scrape",
  port: "prometheus_io_port",
  path: "prometheus_io_path",
  targets: "prometheus_istio_io_scrape_targets",
  securePort: "prometheus_istio_io_secure_port",
} as const;

/** Ports of the proxy and the agent, which cannot be scraped for an application. */
const reservedPorts: Readonly<Record<string, string>> = {
  "15000": "Envoy admin",
  "15001": "outbound traffic capture",
  "15004": "pilot debug",
  "15006": "inbound traffic capture",
  "15008": "HBONE tunnel",
  "15020": "pilot-agent status / merged Prometheus",
  "15021": "Envoy health",
  "15053": "DNS proxy",
  "15090": "Envoy Prometheus (already merged)",
};

const sanitized = (name: string): string => name.replace(/[^a-zA-Z0-9_]/g, "_");

const entriesOf = (pod: JsonObject, name: string): readonly (readonly [string, string])[] =>
  Object.entries(annotationsOf(pod)).filter(([key]) => sanitized(key) === name);

/** Returns the port that a pod's annotations name; undefined if they name none. */
export const prometheusPort = (pod: JsonObject): string | undefined => entriesOf(pod, names.port)[0]?.[1];

/** Removes the annotations about scraping. */
export function clearPrometheusAnnotations(pod: JsonObject): void {
  const cleared: readonly string[] = [names.scrape, names.port, names.path, names.targets];
  const annotations = writableMap(pod, "annotations");
  for (const key of Object.keys(annotations)) if (cleared.includes(sanitized(key))) delete annotations[key];
}

/**
 * Points the annotations of Prometheus at the agent, which merges the application's metrics with the proxy's. What they
 * said before becomes a variable of the proxy.
 *
 * @throws InjectorError `annotation` for a port that cannot be scraped
 */
export function mergePrometheus(pod: JsonObject, mesh: MeshConfig): void {
  if (!isScraped(pod) || !isMergeEnabled(pod, mesh)) return;
  const agentPort = String(mesh.defaultConfig?.statusPort ?? 0);
  if (prometheusPort(pod) === agentPort) return;
  const scrape = scrapeConfiguration(pod, agentPort);
  const proxy = findContainer(pod, proxyContainer);
  if (proxy !== undefined && scrape !== undefined)
    appendVariables(proxy, [{ name: "ISTIO_PROMETHEUS_ANNOTATIONS", value: scrape }]);
  clearPrometheusAnnotations(pod);
  const annotations = writableMap(pod, "annotations");
  annotations["prometheus.io/port"] = agentPort;
  annotations["prometheus.io/path"] = "/stats/prometheus";
  annotations["prometheus.io/scrape"] = "true";
}

/** Names the port of the merged metrics behind TLS in an annotation, if the proxy has one and the pod does not. */
export function annotateSecurePort(pod: JsonObject): void {
  if (entriesOf(pod, names.securePort).length > 0) return;
  const variables = (findContainer(pod, proxyContainer)?.["env"] ?? []) as readonly JsonObject[];
  const port = variables.find(
    ({ name, value }) => name === "ENVOY_SECURE_MERGED_METRICS_PORT" && value && value !== "0",
  )?.["value"];
  if (typeof port === "string") writableMap(pod, "annotations")["prometheus.istio.io/secure-port"] = port;
}

function isScraped(pod: JsonObject): boolean {
  const values = entriesOf(pod, names.scrape).map(([, value]) => parseGoBoolean(value));
  return values.find((value) => value !== undefined) ?? true;
}

function isMergeEnabled(pod: JsonObject, mesh: MeshConfig): boolean {
  const requested = annotationsOf(pod)["prometheus.istio.io/merge-metrics"];
  return (requested === undefined ? undefined : parseGoBoolean(requested)) ?? mesh.enablePrometheusMerge ?? true;
}

interface ScrapeTarget {
  readonly port: string;
  readonly path: string;
}

/** Returns the JSON of what Prometheus would scrape without the agent; undefined if the pod does not say. */
function scrapeConfiguration(pod: JsonObject, agentPort: string): string | undefined {
  const value = (name: string): string => entriesOf(pod, name).at(-1)?.[1] ?? "";
  const targets = parseTargets(value(names.targets));
  const [first] = targets;
  const port = first?.port ?? value(names.port);
  const path = first?.path ?? value(names.path);
  const scrape = value(names.scrape);
  for (const target of targets) checkPort(target.port, agentPort, "targets: target port");
  if (first === undefined && port !== "") checkPort(port, agentPort, "configuration: port");
  if (scrape === "" && path === "" && port === "") return undefined;
  const members = Object.entries({ scrape, path, port }).map(([key, text]) => `"${key}":${encodeAny(text)}`);
  const listed = targets.map((target) => `{"port":${encodeAny(target.port)},"path":${encodeAny(target.path)}}`);
  return `{${[...members, ...(listed.length > 0 ? [`"targets":[${listed.join(",")}]`] : [])].join(",")}}`;
}

/** Parses `port:path` pairs separated by commas. As in Istio, a pair without port makes the annotation void. */
function parseTargets(text: string): readonly ScrapeTarget[] {
  const pairs = text
    .split(",")
    .map((pair) => pair.trim())
    .filter((pair) => pair !== "");
  const targets = pairs.map((pair) => {
    const [port = "", ...path] = pair.split(":");
    return { port: port.trim(), path: path.join(":").trim() || "/metrics" };
  });
  return targets.every(({ port }) => port !== "") ? targets : [];
}

function checkPort(port: string, agentPort: string, place: string): void {
  const fail = (reason: string): InjectorError =>
    new InjectorError("annotation", `invalid prometheus scrape ${place} ${reason}`);
  const number = /^[+-]?\d+$/.test(port) ? Number(port) : 0;
  if (number < 1 || number > 65535) throw fail(`${JSON.stringify(port)} is invalid, expected 1 to 65535`);
  if (String(number) === agentPort) throw fail(`${port} conflicts with agent port`);
  const reason = reservedPorts[String(number)];
  if (reason !== undefined) throw fail(`${port} is reserved for Istio (${reason}) and cannot be scraped`);
}
