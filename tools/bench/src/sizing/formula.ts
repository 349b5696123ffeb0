/** Numbers that the cost of istiod depends on. */
export interface MeshSize {
  readonly services: number;
  /** Namespaces of the services, of equal size. */
  readonly namespaces: number;
  /** Pods of each service. */
  readonly pods: number;
  /** Connected proxies of this replica. */
  readonly proxies: number;
  /** Each namespace has a Sidecar that limits its proxies to its own services. */
  readonly isScoped: boolean;
}

/** The cost of a replica of istiod that serves a mesh over TLS, in bytes without compression. */
export interface Figures {
  /** CPU seconds from the start of the process until it is ready. */
  readonly readyCpuSeconds: number;
  /** CPU seconds while all proxies connect for the first time. */
  readonly connectCpuSeconds: number;
  readonly connectBytes: number;
  /** Peak of the resident memory, in bytes. */
  readonly peakBytes: number;
  /** A change of an endpoint of one service. */
  readonly endpoint: ChangeFigures;
  /** A change of a route of one service. */
  readonly weight: ChangeFigures;
}

export interface ChangeFigures {
  readonly cpuSeconds: number;
  readonly bytes: number;
}

const MB = 1e6;
const kB = 1e3;
const ms = 1e-3;

/** CPU seconds until istiod is ready. */
const ready = { process: 1.7, service: 4.2 * ms, pod: 0.45 * ms };
/** CPU seconds of the first connection of all proxies. */
const connect = { service: 2.7 * ms, pod: 0.14 * ms, proxy: 4.2 * ms, megabyte: 1.9 * ms };
/** Bytes of the configuration of a proxy, and of each service that it sees. */
const config = { proxy: 63 * kB, service: 7.1 * kB, pod: 0.24 * kB };
/** Bytes of memory. A view is a service that a namespace sees: its routes are kept for each namespace. */
const memory = { process: 165 * MB, service: 75 * kB, pod: 10 * kB, proxy: 345 * kB, view: 3 * kB };
/** CPU seconds of a change. */
const change = { itself: 5 * ms, pod: 0.004 * ms, response: 0.5 * ms, megabyte: 2.9 * ms };
/** Bytes of a response: all routes of the port, or all endpoints of the service. */
const routes = { response: 1.5 * kB, service: 1.02 * kB };
const assignment = { response: 0.4 * kB, pod: 0.147 * kB };

/** Returns the number of services that a proxy of the mesh gets configuration for. */
export function visibleServices({ services, namespaces, isScoped }: MeshSize): number {
  return isScoped ? services / namespaces : services;
}

/** Returns the number of proxies that get a change of one service. */
export function affectedProxies({ proxies, namespaces, isScoped }: MeshSize): number {
  return isScoped ? proxies / namespaces : proxies;
}

/** Returns what the formula of docs/sizing.md says of a mesh. */
export function predict(size: MeshSize): Figures {
  const { services, proxies, namespaces } = size;
  const pods = services * size.pods;
  const visible = visibleServices(size);
  const affected = affectedProxies(size);
  const connectBytes = proxies * (config.proxy + visible * (config.service + size.pods * config.pod));
  const changeOf = (responseBytes: number): ChangeFigures => {
    const bytes = affected * responseBytes;
    const cpuSeconds = change.itself + pods * change.pod + affected * change.response + (bytes / MB) * change.megabyte;
    return { bytes, cpuSeconds };
  };
  return {
    readyCpuSeconds: ready.process + services * ready.service + pods * ready.pod,
    connectCpuSeconds:
      services * connect.service +
      pods * connect.pod +
      proxies * connect.proxy +
      (connectBytes / MB) * connect.megabyte,
    connectBytes,
    peakBytes:
      memory.process +
      services * memory.service +
      pods * memory.pod +
      proxies * memory.proxy +
      namespaces * visible * memory.view,
    endpoint: changeOf(assignment.response + size.pods * assignment.pod),
    weight: changeOf(routes.response + visible * routes.service),
  };
}

/** Resident memory of an agent and its Envoy. */
export interface AgentFigures {
  readonly agentBytes: number;
  readonly envoyBytes: number;
}

const agent = { process: 86 * MB, cluster: 6 * kB };
const envoy = { process: 70 * MB, cluster: 85 * kB };

/** Returns what the formula of docs/sizing.md says of an agent and its Envoy, in resident bytes. */
export function predictAgent(clusters: number): AgentFigures {
  return {
    agentBytes: agent.process + clusters * agent.cluster,
    envoyBytes: envoy.process + clusters * envoy.cluster,
  };
}

/** Values of the charts for a container. */
export interface Resources {
  /** Cores. */
  readonly cpuRequest: number;
  readonly memoryRequest: number;
  readonly memoryLimit: number;
}

/** Seconds in which a replica that starts should have configured all its proxies. */
const startSeconds = 30;
/** Share of a container's memory limit that Node gives its heap. */
const heapShare = 0.5;

/** Returns requests and limits of a replica, for so many changes of endpoints a second. */
export function resourcesOf(size: MeshSize, changesPerSecond: number): Resources {
  const { readyCpuSeconds, connectCpuSeconds, peakBytes, endpoint } = predict(size);
  return {
    cpuRequest: Math.max((readyCpuSeconds + connectCpuSeconds) / startSeconds, changesPerSecond * endpoint.cpuSeconds),
    memoryRequest: peakBytes,
    memoryLimit: peakBytes / heapShare,
  };
}
