import {
  type Container,
  type ContainerPort,
  pods,
  workloadEntries,
  workloadGroups,
  type WorkloadKind,
  workloadKinds,
} from "@istiod/config-schema";
import type { Collection, QueryContext } from "@istiod/incremental";
import { type InboundPorts, injectorOf } from "./injector-config.js";
import { hasProxy, proxyContainer, statedInjection } from "./membership.js";

export type Labels = Readonly<Record<string, string>>;

/**
 * A workload of the mesh: a Pod, the pods that a Deployment or another workload kind creates, or a WorkloadEntry,
 * which registration from a WorkloadGroup creates, too.
 */
export interface Workload {
  readonly kind: string;
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
  readonly labels: Labels;
  /** Traffic of the workload is redirected to a node proxy. */
  readonly ambient: boolean;
  /** The workload has a proxy, or its template has one. */
  readonly sidecar: boolean;
  /** True if all its containers are proxies, as those of a gateway. */
  readonly router?: true;
  /** True for a machine outside of Kubernetes, which may have a proxy or not. */
  readonly machine?: true;
  /** True if it has the network of its node. Such workloads are not injected. */
  readonly hostNetwork?: true;
  /** True for a template with 0 replicas, of which there are no pods. */
  readonly scaledToZero?: true;
  /** The annotations that say which inbound ports are redirected to the proxy. Absent if neither is set. */
  readonly inboundPorts?: InboundPorts;
  /** Value of the label `sidecar.istio.io/inject`, else of the annotation; absent if neither is set. */
  readonly inject?: string;
  /** The service account that it runs with. Absent if it is `default`, and for a WorkloadEntry that names none. */
  readonly serviceAccount?: string;
  /** Ports that it declares. Absent if it declares none. */
  readonly ports?: readonly ContainerPort[];
}

/** A kind of workloads. */
export interface WorkloadSource {
  readonly of: Collection<unknown>;
  /** True if the objects describe workloads that do not exist yet. */
  readonly template: boolean;
  namespace(object: unknown): string;
  labels(object: unknown): Labels;
  workload(object: unknown): Workload;
}

const ambientKey = "ambient.istio.io/redirection";
const trafficKeys = "traffic.sidecar.istio.io/";

const machine = { ambient: false, sidecar: true, machine: true } as const;

/** The kinds of workloads. */
export const workloadSources: readonly WorkloadSource[] = [
  source(
    pods,
    false,
    (pod) => pod.labels,
    (pod) => ({
      kind: "Pod",
      ...podProperties(pod.labels, pod.annotations, pod.spec),
      ...accountNamed(pod.spec.serviceAccountName),
      ports: pod.spec.ports,
    }),
  ),
  ...workloadKinds.map(templateSource),
  source(
    workloadEntries,
    false,
    (entry) => ({ ...entry.labels, ...entry.spec.labels }),
    (entry) => ({
      kind: "WorkloadEntry",
      ...machine,
      ...accountNamed(entry.spec.serviceAccount),
      ports: namedPorts(entry.spec.ports),
    }),
  ),
  source(
    workloadGroups,
    true,
    (group) => ({ ...group.spec.metadata?.labels, ...group.spec.template?.labels }),
    (group) => ({
      kind: "WorkloadGroup",
      ...machine,
      ...accountNamed(group.spec.template?.serviceAccount ?? ""),
      ports: namedPorts(group.spec.template?.ports ?? {}),
    }),
  ),
];

function accountNamed(name: string): Pick<Workload, "serviceAccount"> {
  return name === "" || name === "default" ? {} : { serviceAccount: name };
}

function namedPorts(ports: Readonly<Record<string, number>>): readonly ContainerPort[] {
  return Object.entries(ports).map(([name, containerPort]) => ({ name, containerPort, protocol: "TCP" }));
}

const templateKinds: ReadonlySet<string> = new Set(["WorkloadGroup", ...workloadKinds.map(({ kind }) => kind)]);

/** Reports whether a workload is that of a template, and may not exist yet. */
export function isTemplate({ kind }: Pick<Workload, "kind">): boolean {
  return templateKinds.has(kind);
}

/** Returns a function that tells whether inbound connections to a port of a workload are redirected to its sidecar. */
export function redirectedPorts(
  q: QueryContext,
  workload: Pick<Workload, "cluster" | "namespace" | "inboundPorts">,
): (port: number) => boolean {
  const { included = "*", excluded = "" } = { ...injectorOf(q, workload)?.inboundPorts, ...workload.inboundPorts };
  const isAll = included.trim() === "*";
  const listed = new Set((isAll ? excluded : included).split(",").map(Number));
  return (port) => listed.has(port) !== isAll;
}

function templateSource({ kind, collection }: WorkloadKind): WorkloadSource {
  return source(
    collection,
    true,
    ({ spec }) => spec.templateLabels,
    ({ spec }) => ({
      kind,
      ...podProperties(spec.templateLabels, spec.templateAnnotations, spec),
      ...(spec.replicas === 0 && { scaledToZero: true }),
      ...accountNamed(spec.serviceAccountName),
      ports: spec.ports,
    }),
  );
}

function source<O extends { readonly cluster: string; readonly namespace: string; readonly name: string }>(
  of: Collection<O>,
  template: boolean,
  labelsOf: (object: O) => Labels,
  describe: (object: O) => Omit<Workload, "cluster" | "namespace" | "name" | "labels">,
): WorkloadSource {
  return {
    of,
    template,
    namespace: (object) => (object as O).namespace,
    labels: (object) => labelsOf(object as O),
    workload(object) {
      const { cluster, namespace, name } = object as O;
      const { ports = [], ...described } = describe(object as O);
      return {
        cluster,
        namespace,
        name,
        labels: labelsOf(object as O),
        ...described,
        ...(ports.length > 0 && { ports }),
      };
    },
  };
}

function podProperties(
  labels: Labels,
  annotations: Labels,
  { containers, hostNetwork }: { readonly containers: readonly Container[]; readonly hostNetwork: boolean },
): Pick<Workload, "ambient" | "sidecar" | "router" | "hostNetwork" | "inboundPorts" | "inject"> {
  const inject = statedInjection({ labels, annotations });
  const included = annotations[`${trafficKeys}includeInboundPorts`];
  const excluded = annotations[`${trafficKeys}excludeInboundPorts`];
  const running = containers.filter(({ init }) => !init);
  const router = running.length > 0 && running.every(({ name }) => name === proxyContainer);
  return {
    ambient: annotations[ambientKey] === "enabled",
    sidecar: hasProxy(containers),
    ...(router && { router }),
    ...(hostNetwork && { hostNetwork }),
    ...((included ?? excluded) !== undefined && {
      inboundPorts: { ...(included !== undefined && { included }), ...(excluded !== undefined && { excluded }) },
    }),
    ...(inject !== undefined && { inject }),
  };
}
