/** The parts of a Kubernetes Pod that injection reads. Other fields are kept. */
export interface Pod {
  readonly metadata?: {
    readonly name?: string;
    readonly generateName?: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: {
    readonly hostNetwork?: boolean;
    readonly initContainers?: readonly Container[];
    readonly containers?: readonly Container[];
  };
}

export interface Container {
  readonly name: string;
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
  readonly readinessProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly startupProbe?: Probe;
  readonly lifecycle?: { readonly preStop?: LifecycleHandler; readonly postStart?: LifecycleHandler };
}

/** A port number, or the name of a port of the container. */
export type Port = number | string;

export interface LifecycleHandler {
  readonly httpGet?: { readonly port: Port; readonly path?: string; readonly scheme?: string };
  readonly tcpSocket?: { readonly port: Port; readonly host?: string };
}

export interface Probe extends LifecycleHandler {
  readonly grpc?: { readonly port: number; readonly service?: string };
  readonly timeoutSeconds?: number;
}

/** Returns a pod's name for messages. A pod created by a controller only has a name prefix. */
export function podName(pod: Pod): string {
  const { namespace = "default", name, generateName } = pod.metadata ?? {};
  return `Pod ${namespace}/${name ?? (generateName === undefined ? "" : `${generateName}***`)}`;
}
