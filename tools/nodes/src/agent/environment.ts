import type { ConfigMap, Container, EnvFromSource, EnvVar, Pod, Secret, Service } from "../kube/objects.js";
import { expand } from "./expand.js";
import { fieldValue, type PodAddresses, resourceValue } from "./field-values.js";

/** Objects of the pod's namespace that its variables may refer to. */
export interface EnvSources {
  readonly addresses: PodAddresses;
  configMap(name: string): ConfigMap | undefined;
  secret(name: string): Secret | undefined;
  services(): readonly Service[];
}

/**
 * Returns the environment of a container: variables of Services, `envFrom`, then `env`, each of which may refer to
 * earlier ones.
 *
 * @throws Error that names a required object or key that does not exist
 */
export function environmentOf(
  pod: Pod,
  container: Container,
  sources: EnvSources,
  imageEnv: Readonly<Record<string, string>> = {},
): Map<string, string> {
  const result = new Map(Object.entries({ PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" }));
  result.set("HOSTNAME", pod.spec.hostname ?? pod.metadata.name).set("HOME", "/");
  for (const [name, value] of Object.entries(imageEnv)) result.set(name, value);
  const links = pod.spec.enableServiceLinks !== false;
  for (const service of sources.services())
    if (isKubernetes(service) || (links && service.metadata.namespace === pod.metadata.namespace))
      for (const [name, value] of serviceVariables(service)) result.set(name, value);
  for (const from of container.envFrom ?? []) for (const [name, value] of allOf(from, sources)) result.set(name, value);
  for (const variable of container.env ?? []) {
    const value = valueOf(pod, container, variable, sources, result);
    if (value !== undefined) result.set(variable.name, value);
  }
  return result;
}

function isKubernetes({ metadata }: Service): boolean {
  return metadata.namespace === "default" && metadata.name === "kubernetes";
}

/** The variables of a Service with a cluster IP, such as `SHOP_SERVICE_HOST`. */
function serviceVariables({ metadata, spec }: Service): [string, string][] {
  const { clusterIP = "None", ports = [] } = spec;
  const [first] = ports;
  if (clusterIP === "None" || clusterIP === "" || !first) return [];
  const upper = (text: string): string => text.toUpperCase().replaceAll(/[^A-Z0-9]/g, "_");
  const prefix = upper(metadata.name);
  const result: [string, string][] = [
    [`${prefix}_SERVICE_HOST`, clusterIP],
    [`${prefix}_SERVICE_PORT`, String(first.port)],
    [`${prefix}_PORT`, `${(first.protocol ?? "TCP").toLowerCase()}://${clusterIP}:${first.port}`],
  ];
  for (const { name, port, protocol = "TCP" } of ports) {
    if (name) result.push([`${prefix}_SERVICE_PORT_${upper(name)}`, String(port)]);
    const base = `${prefix}_PORT_${port}_${protocol}`;
    result.push([base, `${protocol.toLowerCase()}://${clusterIP}:${port}`], [`${base}_PROTO`, protocol.toLowerCase()]);
    result.push([`${base}_PORT`, String(port)], [`${base}_ADDR`, clusterIP]);
  }
  return result;
}

function allOf({ prefix = "", configMapRef, secretRef }: EnvFromSource, sources: EnvSources): [string, string][] {
  const result: [string, string][] = [];
  if (configMapRef) {
    const found = required("ConfigMap", configMapRef, sources.configMap(configMapRef.name));
    for (const [key, value] of Object.entries(found?.data ?? {})) result.push([prefix + key, value]);
  }
  if (secretRef) {
    const found = required("Secret", secretRef, sources.secret(secretRef.name));
    for (const [key, value] of Object.entries(found?.data ?? {})) result.push([prefix + key, decode(value)]);
  }
  return result;
}

function valueOf(
  pod: Pod,
  container: Container,
  { value, valueFrom }: EnvVar,
  sources: EnvSources,
  earlier: ReadonlyMap<string, string>,
): string | undefined {
  if (!valueFrom) return expand(value ?? "", earlier);
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef } = valueFrom;
  if (fieldRef) return fieldValue(pod, fieldRef, sources.addresses);
  if (resourceFieldRef) return resourceValue(pod, container, resourceFieldRef);
  const ref = configMapKeyRef ?? secretKeyRef;
  if (!ref) throw new Error("env.valueFrom: unsupported source");
  const { name = "", key, optional } = ref;
  const kind = configMapKeyRef ? "ConfigMap" : "Secret";
  const found = required(kind, ref, configMapKeyRef ? sources.configMap(name) : sources.secret(name));
  const content = found?.data?.[key];
  if (content === undefined && optional !== true) throw new Error(`couldn't find key ${key} in ${kind} ${name}`);
  return content === undefined || configMapKeyRef ? content : decode(content);
}

/** @throws Error if a required object does not exist */
export function required<T>(
  kind: string,
  { name = "", optional }: { readonly name?: string; readonly optional?: boolean },
  found: T | undefined,
): T | undefined {
  if (found === undefined && optional !== true) throw new Error(`${kind} "${name}" not found`);
  return found;
}

function decode(base64: string): string {
  return Buffer.from(base64, "base64").toString("utf8");
}
