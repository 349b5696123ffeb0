/** The parts of a Kubernetes Pod that injection looks at; everything else passes through unread. */
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

/** A port by number or by the name that the container gives it. */
export type Port = number | string;

export interface LifecycleHandler {
  readonly httpGet?: { readonly port: Port; readonly path?: string; readonly scheme?: string };
  readonly tcpSocket?: { readonly port: Port; readonly host?: string };
}

export interface Probe extends LifecycleHandler {
  readonly grpc?: { readonly port: number; readonly service?: string };
  readonly timeoutSeconds?: number;
}

/** How a pod is named to people: a pod made by a controller has no name yet. */
export function podName(pod: Pod): string {
  const { namespace = "default", name, generateName } = pod.metadata ?? {};
  return `Pod ${namespace}/${name ?? (generateName === undefined ? "" : `${generateName}***`)}`;
}
