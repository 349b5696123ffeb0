import { type ServiceObject, services, type WorkloadObject } from "@istiod/config-schema";
import { servicesSelecting } from "@istiod/service-discovery";
import type { AnalysisContext } from "../../analyzer.js";
import { isInMesh } from "../../queries/membership.js";
import { listNames } from "../../suggestions.js";

const waypointController = "istio.io-mesh-controller";

/** Reports conflicting ports and protocols of the services of a Deployment or another kind that creates pods. */
export function checkServices(deployment: WorkloadObject, context: AnalysisContext): void {
  const { cluster, namespace, labels, spec } = deployment;
  const template = { cluster, namespace, labels: spec.templateLabels, annotations: spec.templateAnnotations };
  const containers = spec.containers.filter(({ init }) => !init);
  if (labels["gateway.istio.io/managed"] === waypointController || !isInMesh(context.q, { ...template, containers }))
    return;
  const found = servicesSelecting(context.q, cluster, namespace, spec.templateLabels).flatMap((name) => {
    const service = context.q.read(services, `${cluster}/${namespace}/${name}`);
    return service === undefined ? [] : [service];
  });
  checkProtocols(deployment, found, context);
  checkTargetPorts(deployment, found, context);
}

function checkProtocols(
  { kind, name }: WorkloadObject,
  found: readonly ServiceObject[],
  { report }: AnalysisContext,
): void {
  const usage = portsOf(found).map(({ service, port, protocol }) => ({ service, key: String(port), value: protocol }));
  for (const { key, values, names } of contradictions(usage)) {
    report(
      "IST0116",
      ["metadata", "name"],
      `${kind} ${name} is associated with services that use port ${key} with different protocols (${values.join(", ")}): ${listNames(names)}; use another port for one of the protocols`,
    );
  }
}

function checkTargetPorts(
  { kind, name }: WorkloadObject,
  found: readonly ServiceObject[],
  { report }: AnalysisContext,
): void {
  const usage = portsOf(found).map(({ service, port, targetPort }) => ({
    service,
    key: String(targetPort ?? port),
    value: String(port),
  }));
  for (const { key, values, names } of contradictions(usage)) {
    report(
      "IST0137",
      ["metadata", "name"],
      `${kind} ${name} has conflicting ports: services ${listNames(names)} lead different ports (${values.join(", ")}) to target port ${key}; use one port for it, or a target port for each`,
    );
  }
}

interface PortUsage {
  readonly service: string;
  readonly key: string;
  readonly value: string;
}

function portsOf(
  found: readonly ServiceObject[],
): readonly (ServiceObject["spec"]["ports"][number] & { readonly service: string })[] {
  return found.flatMap(({ name, spec }) => spec.ports.map((port) => ({ ...port, service: name })));
}

/** Returns the keys that have several values, with the services that have them. */
function contradictions(
  usage: readonly PortUsage[],
): readonly { key: string; values: readonly string[]; names: readonly string[] }[] {
  const distinct = (values: readonly string[]): readonly string[] => [...new Set(values)].sort();
  return distinct(usage.map(({ key }) => key)).flatMap((key) => {
    const users = usage.filter((u) => u.key === key);
    const values = distinct(users.map(({ value }) => value));
    return values.length < 2 ? [] : [{ key, values, names: distinct(users.map(({ service }) => service)) }];
  });
}
