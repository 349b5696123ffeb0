import { query, type QueryContext } from "@istiod/incremental";
import { kubernetesPortProtocol, type Protocol } from "@istiod/service-discovery";
import { listNames } from "../suggestions.js";
import { type PodProfile, type PodSelector, selectedPods } from "./pods.js";
import { type ServedPort, servedPorts } from "./served-ports.js";

/** A port of a Service by number, and the port of the workload that it leads to. */
export interface WorkloadPort extends Pick<ServedPort, "service" | "target"> {
  readonly number: number;
  readonly protocol: Protocol;
}

/** The ports of selected workloads. */
export interface WorkloadPorts {
  /** Ports that Services lead to, each once. */
  readonly served: readonly WorkloadPort[];
  /** Ports that containers declare or Services lead to, ascending. */
  readonly own: readonly number[];
}

/** The ports of the workloads that a selector selects; undefined if it selects none. */
export const workloadPorts = query("workloadPorts", (q, selector: PodSelector): WorkloadPorts | undefined => {
  const pods = q.call(selectedPods, selector);
  if (pods.length === 0) return undefined;
  const served = new Map(pods.flatMap((pod) => portsOfWorkload(q, pod)).map((port) => [JSON.stringify(port), port]));
  const own = new Set([
    ...pods.flatMap(({ ports = [] }) => ports.map(({ containerPort }) => containerPort)),
    ...[...served.values()].flatMap(({ target }) => target ?? []),
  ]);
  return { served: [...served.values()], own: [...own].sort((a, b) => a - b) };
});

/** Returns the ports of a workload that Services lead to. */
export function portsOfWorkload(q: QueryContext, pod: PodProfile): readonly WorkloadPort[] {
  return servedPorts(q, pod).map(({ service, port, target }) => ({
    service: `${pod.namespace}/${service}`,
    number: port.port,
    target,
    protocol: kubernetesPortProtocol(port),
  }));
}

/** A port that no workload has. */
export interface MissingPort {
  /** The ports that were probably meant, or those that there are. */
  readonly hint: string;
  /** True if the port is that of a Service. Other ports may be those on which containers listen undeclared. */
  readonly isOfService: boolean;
}

/** Explains that the workloads do not have a port; undefined if one has it, or if no port is known. */
export function missingPort({ served, own }: WorkloadPorts, port: number): MissingPort | undefined {
  if (own.includes(port)) return undefined;
  const meant = served.filter(({ number }) => number === port);
  if (meant.length > 0) {
    const names = listNames(distinct(meant.map(({ service }) => service)));
    const targets = listNames(distinct(meant.map(({ target }) => String(target ?? "unknown"))));
    return { hint: `it is the port of Service ${names}; name the workload's port, ${targets}`, isOfService: true };
  }
  return own.length === 0 ? undefined : { hint: `they have ${listNames(own.map(String))}`, isOfService: false };
}

function distinct(values: readonly string[]): readonly string[] {
  return [...new Set(values)].sort();
}
