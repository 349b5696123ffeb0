import { InjectorError } from "../errors.js";
import { type Container, type LifecycleHandler, type Pod, podName, type Port, type Probe } from "../pod.js";

/** A probe as the agent is to run it, in the form of `ISTIO_KUBE_APP_PROBERS`. */
export interface AppProber {
  readonly httpGet?: LifecycleHandler["httpGet"];
  readonly tcpSocket?: LifecycleHandler["tcpSocket"];
  readonly grpc?: Probe["grpc"];
  /** Seconds. */
  readonly timeoutSeconds?: number;
}

export interface TakenOverProbes {
  /** The pod with its probes pointed at the agent. */
  readonly pod: Pod;
  /**
   * What the agent asks of the application, by the path at which the kubelet asks the agent: the value of
   * `ISTIO_KUBE_APP_PROBERS`.
   */
  readonly probers: Readonly<Record<string, AppProber>>;
}

const proxyContainer = "istio-proxy";
const statusPortAnnotation = "status.sidecar.istio.io/port";

/**
 * Points the probes and lifecycle hooks of a pod's own containers at the agent, which runs them from inside, where
 * mutual TLS does not stand in the way. Each becomes an HTTP request to the agent's status port; what it was is handed
 * to the agent. A probe of the status port itself is the agent's already. Source: pkg/kube/inject/app_probe.go.
 *
 * @param statusPort the agent's status port; the annotation `status.sidecar.istio.io/port` overrides it
 * @throws InjectorError `annotation` where that is no port
 */
export function takeOverProbes(pod: Pod, statusPort: number): TakenOverProbes {
  const port = portOf(pod, statusPort);
  const probers: Record<string, AppProber> = {};
  const convert = (containers: readonly Container[]): readonly Container[] =>
    containers.map((container) =>
      container.name === proxyContainer ? container : converted(container, port, statusPort, probers),
    );
  const { initContainers, containers, ...spec } = pod.spec ?? {};
  return {
    pod: {
      ...pod,
      spec: {
        ...spec,
        ...(initContainers && { initContainers: convert(initContainers) }),
        ...(containers && { containers: convert(containers) }),
      },
    },
    probers,
  };
}

function portOf(pod: Pod, statusPort: number): number {
  const text = pod.metadata?.annotations?.[statusPortAnnotation];
  if (text === undefined) return statusPort;
  const port = Number(text);
  if (!/^\d+$/.test(text) || port < 1 || port > 65535) {
    throw new InjectorError(
      "annotation",
      `${podName(pod)}: annotation ${statusPortAnnotation} is ${JSON.stringify(text)}, expected a port`,
    );
  }
  return port;
}

function converted(container: Container, port: number, ownPort: number, probers: Record<string, AppProber>): Container {
  const { readinessProbe, livenessProbe, startupProbe, lifecycle } = container;
  const at = (kind: string): string => `/app-health/${container.name}/${kind}`;
  const hookAt = (kind: string): string => `/app-lifecycle/${container.name}/${kind}`;
  const take = <H extends Probe>(handler: H, path: string): H => {
    const prober = proberOf(handler, container, ownPort);
    if (prober !== undefined) probers[path] = prober;
    return pointedAt(handler, path, port);
  };
  return {
    ...container,
    ...(readinessProbe && { readinessProbe: take(readinessProbe, at("readyz")) }),
    ...(livenessProbe && { livenessProbe: take(livenessProbe, at("livez")) }),
    ...(startupProbe && { startupProbe: take(startupProbe, at("startupz")) }),
    ...(lifecycle && {
      lifecycle: {
        ...lifecycle,
        ...(lifecycle.preStop && { preStop: take(lifecycle.preStop, hookAt("prestopz")) }),
        ...(lifecycle.postStart && { postStart: take(lifecycle.postStart, hookAt("poststartz")) }),
      },
    }),
  };
}

/**
 * What the agent must do in place of the kubelet; undefined for what runs in the container, names no port, or is the
 * agent's own.
 */
function proberOf(
  { httpGet, tcpSocket, grpc, timeoutSeconds }: Probe,
  container: Container,
  ownPort: number,
): AppProber | undefined {
  const timeout = timeoutSeconds ? { timeoutSeconds } : {};
  const resolve = (port: Port): number | undefined => {
    if (typeof port === "number") return port === ownPort ? undefined : port;
    return container.ports?.find((p) => p.name === port)?.containerPort;
  };
  if (httpGet) {
    const port = resolve(httpGet.port);
    return port === undefined ? undefined : { httpGet: { ...httpGet, port }, ...timeout };
  }
  if (tcpSocket) {
    const port = resolve(tcpSocket.port);
    return port === undefined ? undefined : { tcpSocket: { ...tcpSocket, port }, ...timeout };
  }
  return grpc && { grpc, ...timeout };
}

function pointedAt<H extends Probe>(handler: H, path: string, port: number): H {
  const { httpGet, tcpSocket, grpc, ...rest } = handler;
  if (!httpGet && !tcpSocket && !grpc) return handler;
  const scheme = httpGet?.scheme === "HTTPS" ? { scheme: "HTTP" } : {};
  return { ...rest, httpGet: { ...httpGet, ...scheme, path, port } } as H;
}
