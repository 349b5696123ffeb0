import type { KubernetesObject } from "@istiod/kubernetes";
import { kubernetesPortProtocol } from "@istiod/service-discovery";
import { selects } from "../cluster/objects.js";
import type { Pod } from "../cluster/pod-of.js";
import { shortName } from "./short-name.js";

/** The fields of a Service that are described. */
export interface ServiceObject extends KubernetesObject {
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec?: {
    readonly ports?: readonly ServicePort[];
    readonly selector?: Readonly<Record<string, string>>;
  };
}

interface ServicePort {
  readonly name?: string;
  readonly port: number;
  readonly protocol?: string;
  readonly appProtocol?: string;
  readonly targetPort?: number | string;
}

/** Reports whether a Service selects a Pod. One without a selector selects none. */
export function selectsPod({ metadata, spec }: ServiceObject, pod: Pod): boolean {
  const { selector = {} } = spec ?? {};
  return (
    metadata.namespace === pod.metadata.namespace &&
    Object.keys(selector).length > 0 &&
    selects({ matchLabels: selector }, pod.metadata.labels)
  );
}

/** Describes a Service and its ports, with the ports of a Pod that they lead to. */
export function describeService({ metadata, spec }: ServiceObject, pod: Pod, commandNamespace: string): string {
  const ports = (spec?.ports ?? []).filter(({ protocol = "TCP" }) => protocol === "TCP");
  const lines = ports.map((port) => {
    const target = targetPort(port, pod);
    return target === undefined
      ? `   Port: ${port.name ?? ""} ${port.port}: no suitable port for targetPort ${port.targetPort} in pod ${pod.metadata.name}`
      : `   Port: ${port.name ?? ""} ${port.port}/${protocolOf(port)} targets pod port ${target}`;
  });
  return [`Service: ${shortName(metadata, commandNamespace)}`, ...lines].map((line) => `${line}\n`).join("");
}

function targetPort({ port, targetPort: target }: ServicePort, { spec }: Pod): number | undefined {
  if (target === undefined || target === 0 || target === "") return port;
  if (typeof target === "number") return target;
  const containers = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])];
  return containers.flatMap(({ ports = [] }) => ports).find(({ name }) => name === target)?.containerPort;
}

function protocolOf({ name = "", port, protocol = "TCP", appProtocol }: ServicePort): string {
  if (name === "" && appProtocol === undefined) return "auto-detect";
  return kubernetesPortProtocol({ name, port, protocol, appProtocol });
}
