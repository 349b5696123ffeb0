import type { ServiceObject } from "@istiod/config-schema";
import { kubernetesServicesByName } from "@istiod/service-discovery";
import type { AnalysisContext } from "../analyzer.js";
import { listNames } from "../suggestions.js";

/** Reports a service whose definitions differ between clusters. */
export function checkConsistency({ namespace, name }: ServiceObject, { q, report }: AnalysisContext): void {
  const services = q.read(kubernetesServicesByName, `${namespace}/${name}`);
  const faults = services.length < 2 ? [] : aspects.flatMap((aspect) => describeDifference(aspect, services));
  if (faults.length === 0) return;
  report(
    "IST0170",
    ["spec"],
    `service ${namespace}/${name} is inconsistent between clusters: ${faults.join("; ")}; make them the same, because clients of every cluster use one configuration for it`,
  );
}

interface Aspect {
  readonly name: string;
  readonly of: (spec: ServiceObject["spec"]) => string;
}

const aspects: readonly Aspect[] = [
  { name: "cluster IP", of: ({ clusterIP }) => (clusterIP === "None" ? "headless" : "with an address") },
  { name: "type", of: ({ type }) => type },
  { name: "ports", of: ({ ports }) => ports.map(describePort).sort().join(" ") },
];

/** Describes a port, without node ports, which each cluster allocates itself. */
function describePort({
  name,
  port,
  protocol,
  appProtocol,
  targetPort = port,
}: ServiceObject["spec"]["ports"][number]): string {
  const named = name === "" ? "" : `${name}:`;
  return `${named}${port}${targetPort === port ? "" : `->${targetPort}`}/${protocol}${appProtocol === undefined ? "" : `(${appProtocol})`}`;
}

/** Describes the values of an aspect with their clusters, if the values differ. */
function describeDifference({ name, of }: Aspect, services: readonly ServiceObject[]): readonly string[] {
  const clusters = new Map<string, string[]>();
  for (const { spec, cluster } of services) clusters.set(of(spec), [...(clusters.get(of(spec)) ?? []), cluster]);
  if (clusters.size < 2) return [];
  const values = [...clusters].map(([value, having]) => `${value || "none"} in ${listNames(having)}`);
  return [`${name} ${values.join(" and ")}`];
}
