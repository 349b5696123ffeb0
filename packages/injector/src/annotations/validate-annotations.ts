import { checkProxyConfigAnnotation, formatPath, isCidr } from "@istiod/config-schema";
import {
  agentLogLevelAnnotation,
  agentLogLevelFault,
  logLevelAnnotations,
  logLevelFault,
  parseGoBoolean,
  statsAnnotationFaults,
} from "@istiod/settings";
import { InjectorError } from "../errors.js";
import { canonicalQuantity } from "../go-types/quantity.js";

/** Returns what is wrong with a value; undefined if it is valid. */
type Check = (value: string) => string | undefined;

const checks: Readonly<Record<string, Check>> = {
  "sidecar.istio.io/interceptionMode": (value) =>
    ["REDIRECT", "TPROXY", "NONE"].includes(value) ? undefined : "interceptionMode invalid, use REDIRECT,TPROXY,NONE",
  "status.sidecar.istio.io/port": (value) => portFault(value),
  "readiness.status.sidecar.istio.io/initialDelaySeconds": checkUint32,
  "readiness.status.sidecar.istio.io/periodSeconds": checkUint32,
  "readiness.status.sidecar.istio.io/failureThreshold": checkUint32,
  "traffic.sidecar.istio.io/includeOutboundIPRanges": (value) =>
    value === "*" ? undefined : named("includeIPRanges", cidrFault(value)),
  "traffic.sidecar.istio.io/excludeOutboundIPRanges": (value) => named("excludeIPRanges", cidrFault(value)),
  "traffic.sidecar.istio.io/includeInboundPorts": (value) =>
    value === "*" ? undefined : named("includeInboundPorts", portsFault(value)),
  "traffic.sidecar.istio.io/excludeInboundPorts": (value) => named("excludeInboundPorts", portsFault(value)),
  "traffic.sidecar.istio.io/excludeOutboundPorts": (value) => named("excludeOutboundPorts", portsFault(value)),
  "traffic.sidecar.istio.io/excludeInterfaces": checkInterfaces,
  "traffic.sidecar.istio.io/kubevirtInterfaces": checkInterfaces,
  "istio.io/reroute-virtual-interfaces": checkInterfaces,
  "prometheus.istio.io/merge-metrics": (value) =>
    parseGoBoolean(value) === undefined ? "expected a boolean" : undefined,
  ...Object.fromEntries(logLevelAnnotations.map((name) => [name, logLevelFault])),
  [agentLogLevelAnnotation]: agentLogLevelFault,
  "proxy.istio.io/config": checkProxyConfig,
  "sidecar.istio.io/proxyCPU": checkQuantity,
  "sidecar.istio.io/proxyMemory": checkQuantity,
  "sidecar.istio.io/proxyCPULimit": checkQuantity,
  "sidecar.istio.io/proxyMemoryLimit": checkQuantity,
};

/** Bytes that all annotations of an object may have: `TotalAnnotationSizeLimitB` of Kubernetes. */
const maxAnnotationBytes = 256 * 1024;

/**
 * Checks the size of all annotations, before any is parsed. Kubernetes refuses larger ones too, but after injection.
 *
 * @throws InjectorError `annotation` if they are too large
 */
export function checkAnnotationSize(annotations: Readonly<Record<string, string>>): void {
  let bytes = 0;
  for (const name of Object.keys(annotations))
    bytes += Buffer.byteLength(name) + Buffer.byteLength(annotations[name] ?? "");
  if (bytes > maxAnnotationBytes)
    throw new InjectorError(
      "annotation",
      `metadata.annotations: have ${bytes} bytes, expected ${maxAnnotationBytes} at most`,
    );
}

/**
 * Validates the annotations of a pod that injection reads, with Istio's verdicts (pkg/kube/inject/validate.go).
 *
 * @throws InjectorError `annotation` that names each invalid one
 */
export function validateAnnotations(annotations: Readonly<Record<string, string>>): void {
  const faults = Object.entries(checks).flatMap(([name, check]) => {
    const value = Object.hasOwn(annotations, name) ? annotations[name] : undefined;
    const fault = value === undefined ? undefined : check(value);
    return fault === undefined ? [] : [`invalid value '${value}' for annotation '${name}': ${fault}`];
  });
  for (const [name, fault] of Object.entries(statsAnnotationFaults(annotations)))
    faults.push(`invalid value '${annotations[name]}' for annotation '${name}': ${fault}`);
  if (faults.length > 0) throw new InjectorError("annotation", faults.join("; "));
}

/** Returns warnings about the parts of annotations that are ignored: unknown fields of `proxy.istio.io/config`. */
export function annotationWarnings(annotations: Readonly<Record<string, string>>): readonly string[] {
  const value = annotations["proxy.istio.io/config"];
  const warnings: string[] = [];
  if (value !== undefined)
    checkProxyConfigAnnotation(value, {
      error: () => undefined,
      warning: (path, message) =>
        void warnings.push(`annotation proxy.istio.io/config: ${formatPath(path)} ${message}`),
    });
  return warnings;
}

const named = (parameter: string, fault: string | undefined): string | undefined =>
  fault === undefined ? undefined : `${parameter} invalid: ${fault}`;

function cidrFault(value: string): string | undefined {
  if (value === "") return undefined;
  const wrong = value.split(",").find((range) => !isCidr(range));
  return wrong === undefined ? undefined : `failed parsing cidr '${wrong}', expected an address and a prefix length`;
}

/** Ports are separated by commas, with spaces around them; an empty list is valid. */
function portsFault(value: string): string | undefined {
  return value.trim() === "" ? undefined : value.split(",").map(portFault).find(Boolean);
}

function portFault(value: string): string | undefined {
  const text = value.trim();
  return /^\d+$/.test(text) && Number(text) <= 0xffff
    ? undefined
    : `failed parsing port '${value}', expected a number of at most 65535`;
}

function checkUint32(value: string): string | undefined {
  return /^\d+$/.test(value) && Number(value) < 2 ** 32 ? undefined : "expected a number of at most 4294967295";
}

/** Names of Linux interfaces, separated by commas. */
function checkInterfaces(value: string): string | undefined {
  if (value === "") return undefined;
  for (const name of value.split(",").map((item) => item.trim())) {
    if (name === "") return "empty interface name";
    if (Buffer.byteLength(name) > 15) return `interface name "${name}" too long (max 15 chars)`;
    if (!/^[a-zA-Z][a-zA-Z0-9_.-]*$/.test(name)) return `interface name "${name}" contains invalid characters`;
  }
  return undefined;
}

function checkQuantity(value: string): string | undefined {
  if (/\p{Cc}/u.test(value)) return "value contains control characters";
  return canonicalQuantity(value) === undefined ? "expected a quantity, such as 100m or 128Mi" : undefined;
}

function checkProxyConfig(value: string): string | undefined {
  const faults: string[] = [];
  checkProxyConfigAnnotation(value, {
    error: (path, message) => faults.push(path.length === 0 ? message : `${formatPath(path)} ${message}`),
    warning: () => undefined,
  });
  return faults.length === 0 ? undefined : faults.join(", ");
}
