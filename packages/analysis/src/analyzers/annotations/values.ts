import { checkProxyConfigAnnotation, formatPath, isCidr } from "@istiod/config-schema";
import {
  agentLogLevelAnnotation,
  agentLogLevelFault,
  logLevelAnnotations,
  logLevelFault,
  nearestNames,
} from "@istiod/settings";

/** Returns the fault of a value as a predicate, such as `is "x", expected …`; undefined if it is valid. */
type Check = (value: string) => string | undefined;

const uint32Limit = 2 ** 32;

const oneOf = (values: readonly string[], described: string): Check => {
  const known = new Set(values);
  return (value) => (known.has(value) ? undefined : `is ${JSON.stringify(value)}, expected ${described}`);
};

/** Checks each element of a comma-separated list. */
const listOf =
  (isValid: (element: string) => boolean, described: string): Check =>
  (value) => {
    const wrong = value.split(",").find((element) => !isValid(element));
    return value === "" || wrong === undefined ? undefined : `has ${JSON.stringify(wrong)}, expected ${described}`;
  };

const orAll =
  (check: Check): Check =>
  (value) =>
    value === "*" ? undefined : check(value);

const isUnsigned = (value: string, limit: number): boolean => /^\d+$/.test(value) && Number(value) < limit;

const isPort = (value: string): boolean => isUnsigned(value.trim(), 65_536);

const ports = listOf(isPort, "port numbers separated by commas");

const ranges = listOf(isCidr, "IP ranges such as 10.0.0.0/8 separated by commas");

const interfaces = listOf(
  (name) => /^[a-zA-Z][\w.-]{0,14}$/.test(name.trim()),
  "interface names of at most 15 letters, digits, _, . and -",
);

const uint32: Check = (value) =>
  isUnsigned(value, uint32Limit)
    ? undefined
    : `is ${JSON.stringify(value)}, expected a whole number from 0 to 4294967295`;

const quantity: Check = (value) =>
  /^[+-]?(\d+\.?\d*|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?$/.test(value)
    ? undefined
    : `is ${JSON.stringify(value)}, expected a quantity such as 100m or 128Mi`;

/** Injection fails for a Pod whose volumes it cannot read. */
const json: Check = (value) => {
  try {
    const parsed: unknown = JSON.parse(value);
    return typeof parsed === "object" && parsed !== null ? undefined : "is neither a list nor an object in JSON";
  } catch {
    return "is not JSON, so that the Pod cannot be created";
  }
};

const distribution: Check = (value) =>
  value === "" || ["preferclose", "prefersamezone", "prefersamenode", "any"].includes(value.toLowerCase())
    ? undefined
    : `is ${JSON.stringify(value)}, which is ignored, expected PreferClose, PreferSameZone or PreferSameNode`;

const boolean = oneOf(
  ["1", "t", "T", "true", "TRUE", "True", "0", "f", "F", "false", "FALSE", "False"],
  "true or false",
);

const statusPort: Check = (value) =>
  isPort(value) ? undefined : `is ${JSON.stringify(value)}, expected a port number`;

const proxyConfig: Check = (value) => {
  const faults: string[] = [];
  const error = (path: readonly (string | number)[], message: string): void =>
    void faults.push([path.join("."), message].join(" ").trim());
  checkProxyConfigAnnotation(value, { error, warning: () => undefined });
  return faults.length === 0 ? undefined : `is not a proxy configuration: ${faults.join("; ")}`;
};

/** Templates of the chart; others may be added by the user. */
const templates = ["sidecar", "gateway", "grpc-agent", "grpc-simple", "waypoint", "kube-gateway"];

const templateNames: Check = (value) => {
  for (const name of value.split(",").map((each) => each.trim())) {
    const [near] = templates.includes(name) ? [] : nearestNames(name, templates, 1);
    if (near !== undefined)
      return `has ${JSON.stringify(name)}, which is no template of the chart; did you mean ${near}?`;
  }
  return undefined;
};

const checks: ReadonlyMap<string, Check> = new Map(
  Object.entries({
    "sidecar.istio.io/interceptionMode": oneOf(["REDIRECT", "TPROXY", "NONE"], "REDIRECT, TPROXY or NONE"),
    "status.sidecar.istio.io/port": statusPort,
    "readiness.status.sidecar.istio.io/initialDelaySeconds": uint32,
    "readiness.status.sidecar.istio.io/periodSeconds": uint32,
    "readiness.status.sidecar.istio.io/failureThreshold": uint32,
    "traffic.sidecar.istio.io/includeOutboundIPRanges": orAll(ranges),
    "traffic.sidecar.istio.io/excludeOutboundIPRanges": ranges,
    "traffic.sidecar.istio.io/includeInboundPorts": orAll(ports),
    "traffic.sidecar.istio.io/excludeInboundPorts": ports,
    "traffic.sidecar.istio.io/includeOutboundPorts": orAll(ports),
    "traffic.sidecar.istio.io/excludeOutboundPorts": ports,
    "readiness.status.sidecar.istio.io/applicationPorts": ports,
    "sidecar.istio.io/rewriteAppHTTPProbers": boolean,
    "sidecar.istio.io/nativeSidecar": boolean,
    "traffic.sidecar.istio.io/excludeInterfaces": interfaces,
    "traffic.sidecar.istio.io/kubevirtInterfaces": interfaces,
    "istio.io/reroute-virtual-interfaces": interfaces,
    "inject.istio.io/templates": templateNames,
    ...Object.fromEntries(logLevelAnnotations.map((name) => [name, logLevelFault])),
    [agentLogLevelAnnotation]: agentLogLevelFault,
    "prometheus.istio.io/merge-metrics": boolean,
    "proxy.istio.io/config": proxyConfig,
    "sidecar.istio.io/userVolume": json,
    "sidecar.istio.io/userVolumeMount": json,
    "networking.istio.io/traffic-distribution": distribution,
    "sidecar.istio.io/proxyCPU": quantity,
    "sidecar.istio.io/proxyCPULimit": quantity,
    "sidecar.istio.io/proxyMemory": quantity,
    "sidecar.istio.io/proxyMemoryLimit": quantity,
  }),
);

/**
 * Returns the fault of an annotation's value, by the same rules as injection; undefined if the value is valid or the
 * annotation is not checked.
 */
export function annotationFault(name: string, value: string): string | undefined {
  return checks.get(name)?.(value);
}

/** Returns the parts of a valid value that injection and the agent ignore, as predicates of fields. */
export function annotationWarnings(name: string, value: string): readonly string[] {
  if (name !== "proxy.istio.io/config") return [];
  const warnings: string[] = [];
  const warning = (path: readonly (string | number)[], message: string): void =>
    void warnings.push([formatPath(path), message].join(" ").trim());
  checkProxyConfigAnnotation(value, { error: () => undefined, warning });
  return warnings;
}
