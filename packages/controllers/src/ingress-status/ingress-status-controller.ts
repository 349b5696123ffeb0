import { isIP } from "node:net";
import { hasServedClass, meshConfig, meshConfigKey } from "@istiod/config-schema";
import { type Collection, collection, query } from "@istiod/incremental";
import type { FieldTree, KubernetesObject, ResourceType } from "@istiod/kubernetes";
import type { Controller, Observed, Watch } from "../controller/controller.js";
import type { Write } from "../controller/write.js";
import { discovery, type Scope } from "../inputs/discovery.js";
import { revisionTags } from "../inputs/revision-tags.js";
import {
  type GatewayPod,
  ingressFields,
  type LoadBalancerAddress,
  nodeAddresses,
  nodeFields,
  type ObservedIngress,
  observeIngress,
  observePod,
  podFields,
  serviceAddresses,
  serviceFields,
} from "./observed-ingress.js";

export interface IngressStatusOptions extends Scope {
  /** Revision of this istiod. */
  readonly revision: string;
  /** Namespace of istiod. */
  readonly systemNamespace: string;
  /** Namespace of the ingress gateway (`K8S_INGRESS_NS`). Default: `istio-system`. */
  readonly ingressNamespace?: string;
}

const ingressType = networking("Ingress", "ingresses", true);

/**
 * Returns the controller of the load balancer addresses of Ingresses that the mesh serves: those of the Service that
 * `ingressService` names, otherwise those of the node of a running gateway pod. Source: pilot/pkg/config/kube/ingress.
 */
export function ingressStatusController(options: IngressStatusOptions): Controller {
  const { ingressNamespace = "istio-system", namespace, revision, systemNamespace } = options;
  const ingresses = collection<Observed<ObservedIngress>>("Ingress");
  const classes = collection<Observed<string>>("IngressClass");
  const services = collection<Observed<readonly string[]>>("Service");
  const pods = collection<Observed<GatewayPod>>("Pod");
  const nodes = collection<Observed<readonly string[]>>("Node");
  const discovered = discovery(options);
  const tags = revisionTags({ revision, systemNamespace, discovered });

  const isServed = query("writesIngressStatus", (q, key: string): boolean => {
    const ingress = q.read(ingresses, key)?.value;
    const mesh = q.read(meshConfig, meshConfigKey);
    const [in_ = ""] = key.split("/");
    if (ingress === undefined || mesh === undefined || !q.call(discovered.isActive, in_)) return false;
    if (!q.call(tags.isMine, { namespace: in_, revision: ingress.revision })) return false;
    const { annotatedClass: annotated, className } = ingress;
    const controller = (): string | undefined =>
      className === undefined ? undefined : q.read(classes, className)?.value;
    return hasServedClass({ annotated, controller }, mesh);
  });
  const addresses = query("ingressAddresses", (q): readonly LoadBalancerAddress[] => {
    const { ingressService = "", ingressSelector = "" } = q.read(meshConfig, meshConfigKey) ?? {};
    if (ingressService !== "") return sorted(q.read(services, `${ingressNamespace}/${ingressService}`)?.value ?? []);
    const selector = ingressSelector === "" ? "ingressgateway" : ingressSelector;
    for (const key of [...q.keys(pods)].sort()) {
      const pod = q.read(pods, key)?.value;
      if (pod === undefined || !pod.isRunning || pod.labels["istio"] !== selector) continue;
      const node = q.read(nodes, pod.node);
      if (node !== undefined) return sorted(node.value);
    }
    return [];
  });
  const targets = query("servedIngresses", (q): readonly string[] =>
    [...q.keys(ingresses)].filter((key) => q.call(isServed, key)),
  );
  const write = query("ingressStatus", (q, key: string): Write | undefined => {
    const observed = q.read(ingresses, key);
    const ingress = q.call(addresses);
    if (observed === undefined || isEqual(observed.value.addresses, ingress)) return undefined;
    const [in_ = "", name = ""] = key.split("/");
    const { resourceVersion } = observed;
    return {
      action: "merge",
      type: ingressType,
      name: { namespace: in_, name },
      subresource: "status",
      base: resourceVersion,
      fields: { metadata: { resourceVersion }, status: { loadBalancer: { ingress } } },
    };
  });
  const inGateway = { namespace: ingressNamespace };
  return {
    name: "ingress status writer",
    fieldManager: "istiod-ingress-status",
    watches: [
      discovered.watch,
      ...tags.watches,
      watch(ingressType, ingresses, ingressFields, observeIngress, namespace === undefined ? {} : { namespace }),
      watch(networking("IngressClass", "ingressclasses", false), classes, { spec: { controller: true } }, controllerOf),
      watch(core("Service", "services", true), services, serviceFields, serviceAddresses, inGateway),
      watch(core("Pod", "pods", true), pods, podFields, observePod, inGateway),
      watch(core("Node", "nodes", false), nodes, nodeFields, nodeAddresses),
    ],
    inputs: discovered.inputs,
    targets,
    write,
  };
}

function watch<V>(
  type: ResourceType,
  of: Collection<Observed<V>>,
  fields: FieldTree,
  select: (object: KubernetesObject) => V,
  options: Pick<Watch, "namespace"> = {},
): Watch {
  return { type, collection: of, fields, select, ...options } as Watch<V> as Watch;
}

function controllerOf(ingressClass: KubernetesObject): string {
  return (ingressClass as { readonly spec?: { readonly controller?: string } }).spec?.controller ?? "";
}

/** Returns addresses as a status has them: IP addresses first, then hostnames, each sorted. */
function sorted(addresses: readonly string[]): readonly LoadBalancerAddress[] {
  const ips = addresses.filter((address) => isIP(address) !== 0).sort();
  const hostnames = addresses.filter((address) => isIP(address) === 0).sort();
  return [...ips.map((ip) => ({ ip })), ...hostnames.map((hostname) => ({ hostname }))];
}

function isEqual(a: readonly LoadBalancerAddress[], b: readonly LoadBalancerAddress[]): boolean {
  return a.length === b.length && a.every(({ ip, hostname }, at) => ip === b[at]?.ip && hostname === b[at]?.hostname);
}

function core(kind: string, plural: string, namespaced: boolean): ResourceType {
  return { group: "", version: "v1", kind, plural, namespaced };
}

function networking(kind: string, plural: string, namespaced: boolean): ResourceType {
  return { group: "networking.k8s.io", version: "v1", kind, plural, namespaced };
}
