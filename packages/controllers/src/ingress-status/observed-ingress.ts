import type { KubernetesObject } from "@istiod/kubernetes";

/** An address of an Ingress' load balancer. */
export interface LoadBalancerAddress {
  readonly ip?: string;
  readonly hostname?: string;
}

/** The fields of an Ingress that its status depends on. */
export interface ObservedIngress {
  readonly revision: string | undefined;
  readonly annotatedClass: string | undefined;
  readonly className: string | undefined;
  readonly addresses: readonly LoadBalancerAddress[];
}

interface LoadBalancer {
  readonly loadBalancer?: { readonly ingress?: readonly LoadBalancerAddress[] };
}

interface Ingress extends KubernetesObject {
  readonly spec?: { readonly ingressClassName?: string };
  readonly status?: LoadBalancer;
}

export const ingressFields = {
  metadata: { labels: true, annotations: true },
  spec: { ingressClassName: true },
  status: { loadBalancer: true },
} as const;

export function observeIngress({ metadata, spec, status }: Ingress): ObservedIngress {
  return {
    revision: metadata?.labels?.["istio.io/rev"],
    annotatedClass: metadata?.annotations?.["kubernetes.io/ingress.class"],
    className: spec?.ingressClassName,
    addresses: (status?.loadBalancer?.ingress ?? []).map(({ ip, hostname }) => ({
      ...(ip && { ip }),
      ...(hostname && { hostname }),
    })),
  };
}

interface Service extends KubernetesObject {
  readonly spec?: { readonly type?: string; readonly externalName?: string; readonly externalIPs?: readonly string[] };
  readonly status?: LoadBalancer;
}

export const serviceFields = {
  spec: { type: true, externalName: true, externalIPs: true },
  status: { loadBalancer: true },
} as const;

/** Returns the external addresses of a Service. */
export function serviceAddresses({ spec, status }: Service): readonly string[] {
  if (spec?.type === "ExternalName") return [spec.externalName ?? ""];
  const balancers = (status?.loadBalancer?.ingress ?? []).map(({ ip, hostname }) => ip || hostname || "");
  return [...balancers, ...(spec?.externalIPs ?? [])];
}

/** A pod of the ingress gateway. */
export interface GatewayPod {
  readonly labels: Readonly<Record<string, string>>;
  readonly isRunning: boolean;
  readonly node: string;
}

interface Pod extends KubernetesObject {
  readonly spec?: { readonly nodeName?: string };
  readonly status?: { readonly phase?: string };
}

export const podFields = { metadata: { labels: true }, spec: { nodeName: true }, status: { phase: true } } as const;

export function observePod({ metadata, spec, status }: Pod): GatewayPod {
  return { labels: metadata?.labels ?? {}, isRunning: status?.phase === "Running", node: spec?.nodeName ?? "" };
}

interface Node extends KubernetesObject {
  readonly status?: { readonly addresses?: readonly { readonly type: string; readonly address: string }[] };
}

export const nodeFields = { status: { addresses: true } } as const;

/** Returns the external addresses of a node. */
export function nodeAddresses({ status }: Node): readonly string[] {
  const external = (status?.addresses ?? []).filter(({ type, address }) => type === "ExternalIP" && address !== "");
  return [...new Set(external.map(({ address }) => address))];
}
