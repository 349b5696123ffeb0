import { availableParallelism, totalmem } from "node:os";
import { quantityOf } from "@istiod/config-schema";
import type { Container, FieldRef, Pod, ResourceFieldRef } from "../kube/objects.js";

/** Addresses that fields of a pod may refer to. */
export interface PodAddresses {
  readonly podIP: string;
  readonly hostIP: string;
}

/**
 * Returns the value of a field of a pod, for variables and downward API volumes.
 *
 * @throws Error if the field is not supported
 */
export function fieldValue(pod: Pod, { fieldPath }: FieldRef, { podIP, hostIP }: PodAddresses): string {
  const { metadata, spec } = pod;
  const keyed = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(fieldPath);
  if (keyed) return metadata[keyed[1] as "labels" | "annotations"]?.[keyed[2] ?? ""] ?? "";
  switch (fieldPath) {
    case "metadata.name":
      return metadata.name;
    case "metadata.namespace":
      return metadata.namespace;
    case "metadata.uid":
      return metadata.uid;
    case "metadata.labels":
    case "metadata.annotations":
      return lines(metadata[fieldPath === "metadata.labels" ? "labels" : "annotations"]);
    case "spec.nodeName":
      return spec.nodeName ?? "";
    case "spec.serviceAccountName":
      return spec.serviceAccountName ?? "";
    case "status.podIP":
    case "status.podIPs":
      return podIP;
    case "status.hostIP":
    case "status.hostIPs":
      return hostIP;
    default:
      throw new Error(`fieldRef.fieldPath ${fieldPath}: unsupported field`);
  }
}

/** As the kubelet writes labels and annotations: sorted lines of `key="value"`. */
function lines(values: Readonly<Record<string, string>> = {}): string {
  return Object.entries(values)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join("\n");
}

/** Returns the number of a quantity such as `500m` or `1Gi`. @throws Error if it is not one */
export function quantity(text: string | number): number {
  const number = quantityOf(String(text));
  if (number === undefined) throw new Error(`${text}: not a quantity`);
  return number;
}

/**
 * Returns a resource of a container, rounded up to its divisor. Limits that are not set are those of this machine.
 *
 * @throws Error if the resource is not supported
 */
export function resourceValue(
  pod: Pod,
  own: Container | undefined,
  { resource, containerName, divisor }: ResourceFieldRef,
): string {
  const containers = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
  const container = containerName === undefined ? own : containers.find(({ name }) => name === containerName);
  const [kind, name = ""] = splitResource(resource);
  if (!container || (kind !== "limits" && kind !== "requests"))
    throw new Error(`resourceFieldRef.resource ${resource}: unsupported`);
  const machine: Readonly<Record<string, number>> = { cpu: availableParallelism(), memory: totalmem() };
  const declared = container.resources?.[kind]?.[name];
  const value = declared === undefined ? (kind === "limits" ? (machine[name] ?? 0) : 0) : quantity(declared);
  const unit = divisor === undefined || String(divisor) === "0" ? 1 : quantity(divisor);
  return String(Math.ceil(Number((value / unit).toPrecision(12))));
}

function splitResource(resource: string): [string, string?] {
  const at = resource.indexOf(".");
  return at < 0 ? [resource] : [resource.slice(0, at), resource.slice(at + 1)];
}
