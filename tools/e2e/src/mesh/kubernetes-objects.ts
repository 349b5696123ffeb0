import { stringify } from "yaml";
import type { Subnet } from "./subnet.js";
import { applicationPort, servicePort, type Workload } from "./workload.js";

/**
 * Returns the Kubernetes objects of workloads, YAML.
 *
 * @param redirected their traffic is redirected; otherwise Sidecars with `captureMode: NONE` are added
 */
export function kubernetesObjects(workloads: readonly Workload[], subnet: Subnet, redirected = false): string {
  const namespaces = new Set([...workloads.map((w) => w.namespace), "istio-system"]);
  const localities = new Set(workloads.map((w) => w.locality ?? ""));
  const services = new Map(workloads.map((w) => [`${w.namespace}/${w.app}`, w]));
  return [
    ...[...namespaces].map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })),
    ...[...localities].map(node),
    ...[...services.values()].flatMap((w, n) =>
      service(
        w,
        workloads.filter((o) => o.app === w.app && o.namespace === w.namespace),
        subnet.service(n + 1),
      ),
    ),
    ...workloads.map(pod),
    ...workloads.filter((w) => w.proxy === "sidecar" && !redirected).map(sidecar),
  ]
    .map((o) => stringify(o))
    .join("---\n");
}

function nodeName(locality = ""): string {
  return locality === "" ? "machine" : locality.replaceAll("/", "-");
}

function node(locality: string): object {
  const [region, zone, subzone] = locality.split("/");
  const labels = {
    ...(region ? { "topology.kubernetes.io/region": region } : {}),
    ...(zone ? { "topology.kubernetes.io/zone": zone } : {}),
    ...(subzone ? { "topology.istio.io/subzone": subzone } : {}),
  };
  return { apiVersion: "v1", kind: "Node", metadata: { name: nodeName(locality), labels } };
}

function service(
  { app, namespace, portName = "http", ports = [{ name: portName, port: servicePort }], headless = false }: Workload,
  workloads: readonly Workload[],
  clusterIP: string,
): object[] {
  const metadata = { name: app, namespace };
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { ...metadata, labels: { app } },
      spec: { clusterIP: headless ? "None" : clusterIP, ports, selector: { app } },
    },
    {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { ...metadata, labels: { "kubernetes.io/service-name": app } },
      addressType: "IPv4",
      ports: ports.map((p) => ({ ...p, protocol: "TCP" })),
      endpoints: workloads.map((w) => ({
        addresses: [w.address],
        conditions: { ready: true, serving: true, terminating: false },
        nodeName: nodeName(w.locality),
        targetRef: { kind: "Pod", name: w.name, namespace: w.namespace },
      })),
    },
  ];
}

function pod({ name, namespace, labels, app, address, locality, serviceAccount }: Workload): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace, labels },
    spec: {
      nodeName: nodeName(locality),
      serviceAccountName: serviceAccount,
      containers: [{ name: app, ports: [{ containerPort: servicePort }] }],
    },
    status: {
      phase: "Running",
      podIP: address,
      podIPs: [{ ip: address }],
      conditions: [{ type: "Ready", status: "True" }],
    },
  };
}

function sidecar({
  name,
  namespace,
  labels,
  address,
  outbound,
  portName = "http",
  sidecar: own = {},
}: Workload): object {
  const port = { number: servicePort, protocol: portName.split("-")[0]?.toUpperCase(), name: portName };
  const inbound = { bind: address, captureMode: "NONE", defaultEndpoint: `0.0.0.0:${applicationPort}` };
  const standard = {
    port: { number: servicePort, protocol: "HTTP", name: "http" },
    bind: outbound,
    captureMode: "NONE",
    hosts: ["*/*"],
  };
  return {
    apiVersion: "networking.istio.io/v1",
    kind: "Sidecar",
    metadata: { name, namespace },
    spec: {
      workloadSelector: {
        labels: { app: labels["app"], ...(labels["version"] ? { version: labels["version"] } : {}) },
      },
      ingress: [{ port, ...inbound }, ...(own.ingress ?? []).map((i) => ({ ...inbound, ...i }))],
      egress: [standard, ...(own.egress ?? []).map((e) => ({ bind: outbound, captureMode: "NONE", ...e }))],
      ...(own.outboundTrafficPolicy ? { outboundTrafficPolicy: own.outboundTrafficPolicy } : {}),
    },
  };
}
