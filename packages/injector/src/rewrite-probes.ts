import { InjectorError } from "./errors.js";
import { type Container, type LifecycleHandler, type Pod, podName, type Port, type Probe } from "./pod.js";

/** A probe that the agent performs, in the form of `ISTIO_KUBE_APP_PROBERS`. */
export interface AppProber {
  readonly httpGet?: LifecycleHandler["httpGet"];
  readonly tcpSocket?: LifecycleHandler["tcpSocket"];
  readonly grpc?: Probe["grpc"];
  /** Seconds. */
  readonly timeoutSeconds?: number;
}

export interface RewrittenProbes {
  /** The pod with its probes pointed at the agent. */
  readonly pod: Pod;
  /** The original probes by the path at which the agent serves them: the value of `ISTIO_KUBE_APP_PROBERS`. */
  readonly probers: Readonly<Record<string, AppProber>>;
}

const proxyContainer = "istio-proxy";
const statusPortAnnotation = "status.sidecar.istio.io/port";

/**
 * Points the probes and lifecycle hooks of a pod's application containers at the agent, because the kubelet cannot use
 * mutual TLS. Each becomes an HTTP request to the agent's status port, and the agent performs the original probe from
 * inside the pod. Probes of the status port itself already go to the agent (pkg/kube/inject/app_probe.go).
 *
 * @param statusPort the agent's status port; the annotation `status.sidecar.istio.io/port` overrides it
 * @throws InjectorError `annotation` if the annotation is not a port
 */
export function rewriteProbes(pod: Pod, statusPort: number): RewrittenProbes {
  const port = statusPortOf(pod, statusPort);
  const probers: Record<string, AppProber> = {};
  const rewriteAll = (containers: readonly Container[]): readonly Container[] =>
    containers.map((container) =>
      container.name === proxyContainer ? container : rewriteContainer(container, port, statusPort, probers),
    );
  const { initContainers, containers, ...spec } = pod.spec ?? {};
  return {
    pod: {
      ...pod,
      spec: {
        ...spec,
        ...(initContainers && { initContainers: rewriteAll(initContainers) }),
        ...(containers && { containers: rewriteAll(containers) }),
      },
    },
    probers,
  };
}

function statusPortOf(pod: Pod, statusPort: number): number {
  const text = pod.metadata?.annotations?.[statusPortAnnotation];
  if (text === undefined) return statusPort;
  const port = Number(text);
  if (!/^\s*\d+\s*$/.test(text) || port > 65535) {
    throw new InjectorError(
      "annotation",
      `${podName(pod)}: annotation ${statusPortAnnotation} is ${JSON.stringify(text)}, expected a port`,
    );
  }
  return port;
}

function rewriteContainer(
  container: Container,
  port: number,
  ownPort: number,
  probers: Record<string, AppProber>,
): Container {
  const { readinessProbe, livenessProbe, startupProbe, lifecycle } = container;
  const probePath = (kind: string): string => `/app-health/${container.name}/${kind}`;
  const hookPath = (kind: string): string => `/app-lifecycle/${container.name}/${kind}`;
  const rewrite = <H extends Probe>(handler: H, path: string): H => {
    const prober = proberOf(handler, container, ownPort);
    if (prober !== undefined) probers[path] = prober;
    return redirected(handler, path, port);
  };
  return {
    ...container,
    ...(readinessProbe && { readinessProbe: rewrite(readinessProbe, probePath("readyz")) }),
    ...(livenessProbe && { livenessProbe: rewrite(livenessProbe, probePath("livez")) }),
    ...(startupProbe && { startupProbe: rewrite(startupProbe, probePath("startupz")) }),
    ...(lifecycle && {
      lifecycle: {
        ...lifecycle,
        ...(lifecycle.preStop && { preStop: rewrite(lifecycle.preStop, hookPath("prestopz")) }),
        ...(lifecycle.postStart && { postStart: rewrite(lifecycle.postStart, hookPath("poststartz")) }),
      },
    }),
  };
}

/**
 * Returns the probe that the agent performs in place of the kubelet. Undefined for commands in the container, unknown
 * port names, and probes of the agent itself.
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

function redirected<H extends Probe>(handler: H, path: string, port: number): H {
  const { httpGet, tcpSocket, grpc, ...rest } = handler;
  if (!httpGet && !tcpSocket && !grpc) return handler;
  const scheme = httpGet?.scheme === "HTTPS" ? { scheme: "HTTP" } : {};
  return { ...rest, httpGet: { ...httpGet, ...scheme, path, port } } as H;
}
