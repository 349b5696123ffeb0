import type { ObjectInput } from "@istiod/kubernetes/testing";

/** Objects of a cluster that only their number distinguishes. */
export interface ClusterSize {
  readonly pods: number;
  readonly slices: number;
}

const namespaceCount = 20;
const endpointsPerSlice = 10;
const created = "2026-01-01T00:00:00Z";

/** Returns the namespaces of the objects. */
export function namespaces(): readonly string[] {
  return Array.from({ length: namespaceCount }, (_, index) => `team-${index}`);
}

/** Generates the Pods and EndpointSlices of a cluster, with all that a kubelet, a ReplicaSet and an injector write. */
export function* clusterObjects({ pods, slices }: ClusterSize): Generator<ObjectInput> {
  for (let index = 0; index < pods; index++) yield pod(index);
  for (let index = 0; index < slices; index++) yield endpointSlice(index);
}

const namespaceOf = (index: number): string => `team-${index % namespaceCount}`;
const serviceOf = (index: number): string => `service-${Math.floor(index / endpointsPerSlice)}`;
const podName = (index: number): string => `${serviceOf(index)}-7d9c5b8f6d-${index.toString(36).padStart(5, "x")}`;
const addressOf = (index: number): string => `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`;
const nodeOf = (index: number): string => `node-${index % 200}.example.internal`;

function pod(index: number): ObjectInput {
  const [name, service] = [podName(index), serviceOf(index)];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace: namespaceOf(index),
      generateName: `${service}-7d9c5b8f6d-`,
      labels: {
        app: service,
        version: "v1",
        "pod-template-hash": "7d9c5b8f6d",
        "security.istio.io/tlsMode": "istio",
        "service.istio.io/canonical-name": service,
        "service.istio.io/canonical-revision": "v1",
      },
      annotations: {
        "kubectl.kubernetes.io/default-container": "app",
        "prometheus.io/scrape": "true",
        "prometheus.io/port": "15020",
        "sidecar.istio.io/status": JSON.stringify({ initContainers: ["istio-init"], containers: ["istio-proxy"] }),
      },
      ownerReferences: [
        {
          apiVersion: "apps/v1",
          kind: "ReplicaSet",
          name: `${service}-7d9c5b8f6d`,
          uid: "7f1c2f0a-5a6e-4f6c-9d59-0d7b8f7c1a11",
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
      managedFields: [
        managedFields("kube-controller-manager", { "f:spec": ownedFields("f:containers", 40) }),
        managedFields("kubelet", { "f:status": ownedFields("f:conditions", 30) }, "status"),
      ],
    },
    spec: podSpec(service, nodeOf(index)),
    status: podStatus(index),
  };
}

function managedFields(manager: string, fieldsV1: object, subresource?: string): object {
  const common = { manager, operation: "Update", apiVersion: "v1", time: created, fieldsType: "FieldsV1", fieldsV1 };
  return subresource === undefined ? common : { ...common, subresource };
}

function ownedFields(name: string, count: number): object {
  const fields = Array.from({ length: count }, (_, index) => [`f:someFieldOfTheObject${index}`, {}]);
  return { [name]: { ".": {}, 'k:{"name":"app"}': { ".": {}, ...Object.fromEntries(fields) } } };
}

function podSpec(service: string, nodeName: string): object {
  return {
    nodeName,
    serviceAccountName: service,
    restartPolicy: "Always",
    terminationGracePeriodSeconds: 30,
    dnsPolicy: "ClusterFirst",
    schedulerName: "default-scheduler",
    initContainers: [container("istio-init", "registry.example/istio/proxyv2:1.30.0", [])],
    containers: [
      container("app", `registry.example/shop/${service}:v1.2.3`, [{ name: "http", containerPort: 8080 }]),
      container("istio-proxy", "registry.example/istio/proxyv2:1.30.0", [{ name: "metrics", containerPort: 15090 }]),
    ],
    tolerations: ["not-ready", "unreachable"].map((condition) => ({
      key: `node.kubernetes.io/${condition}`,
      operator: "Exists",
      effect: "NoExecute",
      tolerationSeconds: 300,
    })),
    volumes: ["workload-socket", "istio-envoy", "istio-data", "kube-api-access-x7d9c"].map((name) => ({
      name,
      emptyDir: {},
    })),
  };
}

function container(name: string, image: string, ports: readonly object[]): object {
  const probe = { httpGet: { path: "/healthz", port: 8080, scheme: "HTTP" }, periodSeconds: 10, failureThreshold: 3 };
  return {
    name,
    image,
    ports: ports.map((port) => ({ ...port, protocol: "TCP" })),
    args: ["proxy", "sidecar", "--domain", "$(POD_NAMESPACE).svc.cluster.local", "--log_output_level=default:info"],
    env: ["POD_NAME", "POD_NAMESPACE", "INSTANCE_IP", "SERVICE_ACCOUNT", "HOST_IP"].map((variable) => ({
      name: variable,
      valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: `metadata.annotations['example.com/${variable}']` } },
    })),
    resources: { limits: { cpu: "2", memory: "1Gi" }, requests: { cpu: "100m", memory: "128Mi" } },
    readinessProbe: probe,
    volumeMounts: ["workload-socket", "istio-envoy", "istio-data"].map((volume) => ({
      name: volume,
      mountPath: `/var/run/secrets/${volume}`,
    })),
    imagePullPolicy: "IfNotPresent",
    terminationMessagePath: "/dev/termination-log",
  };
}

function podStatus(index: number): object {
  const ip = addressOf(index);
  return {
    phase: "Running",
    podIP: ip,
    podIPs: [{ ip }],
    hostIP: `192.168.${index % 200}.1`,
    hostIPs: [{ ip: `192.168.${index % 200}.1` }],
    startTime: created,
    qosClass: "Burstable",
    conditions: ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"].map(
      (type) => ({
        type,
        status: "True",
        lastProbeTime: null,
        lastTransitionTime: created,
      }),
    ),
    containerStatuses: ["app", "istio-proxy"].map((name) => ({
      name,
      ready: true,
      started: true,
      restartCount: 0,
      image: `registry.example/${name}:v1.2.3`,
      imageID: `registry.example/${name}@sha256:${"0123456789abcdef".repeat(4)}`,
      containerID: `containerd://${"fedcba9876543210".repeat(4)}`,
      state: { running: { startedAt: created } },
      lastState: {},
    })),
  };
}

function endpointSlice(index: number): ObjectInput {
  const service = `service-${index}`;
  const first = index * endpointsPerSlice;
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      name: `${service}-x7d9c`,
      namespace: namespaceOf(first),
      generateName: `${service}-`,
      labels: {
        app: service,
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        "kubernetes.io/service-name": service,
      },
      managedFields: [managedFields("kube-controller-manager", ownedFields("f:endpoints", 20))],
    },
    addressType: "IPv4",
    endpoints: Array.from({ length: endpointsPerSlice }, (_, at) => ({
      addresses: [addressOf(first + at)],
      conditions: { ready: true, serving: true, terminating: false },
      nodeName: nodeOf(first + at),
      zone: `zone-${at % 3}`,
      targetRef: { kind: "Pod", name: podName(first + at), namespace: namespaceOf(first + at) },
    })),
    ports: [{ name: "http", port: 8080, protocol: "TCP", appProtocol: "http" }],
  };
}
