import type { Answer, ApplicationTls } from "./application.js";

/** A workload of a mesh: an application and its proxy. */
export interface WorkloadOptions {
  /** Name of its service. */
  readonly app: string;
  readonly version?: string;
  /** Default: `shop`. */
  readonly namespace?: string;
  /** Default: `app-version`, or the app if there is no version. */
  readonly name?: string;
  /** A `router` is a gateway without an application; `none` is an application without a proxy. Default: `sidecar`. */
  readonly proxy?: "sidecar" | "router" | "none";
  /** Name of its service port, which selects the protocol. Default: `http`. */
  readonly portName?: string;
  /** Ports of its service. Default: {@link servicePort} alone. */
  readonly ports?: readonly { readonly name: string; readonly port: number }[];
  /** Makes its service headless. */
  readonly headless?: boolean;
  /** `region/zone/subzone`. */
  readonly locality?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Starts no application: the caller of `startMesh` serves its port. Default: false. */
  readonly servesItself?: boolean;
  /** The application's response. Default: status 200 with the request as received. */
  readonly answer?: Answer;
  /** Makes the application speak TLS. */
  readonly tls?: ApplicationTls;
  /** Additional environment variables of the agent; `{{address}}` expands to the workload's address. */
  readonly env?: Readonly<Record<string, string>>;
  /** Additional files of the agent, by their paths in its directory. */
  readonly files?: Readonly<Record<string, string>>;
  /**
   * Additional fields of its Sidecar resource. Ingress listeners bind to the workload's address and lead to its
   * application; egress listeners bind to its outbound address. Both may set other values.
   */
  readonly sidecar?: {
    readonly ingress?: readonly object[];
    readonly egress?: readonly object[];
    readonly outboundTrafficPolicy?: object;
  };
}

/** A workload with its addresses and all defaults applied. */
export interface Workload extends WorkloadOptions {
  readonly name: string;
  readonly namespace: string;
  readonly proxy: "sidecar" | "router" | "none";
  readonly serviceAccount: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Its inbound address, served by its proxy if it has one. */
  readonly address: string;
  /** The address of its proxy's outbound listeners. */
  readonly outbound: string;
}

/** The default port of services, and of the inbound listener of a proxy. */
export const servicePort = 8000;
/** The port of an application behind a proxy. */
export const applicationPort = 9000;

/** Applies the defaults of a workload and gives it its addresses. */
export function place(options: WorkloadOptions, address: string, outbound: string): Workload {
  const { app, version, namespace = "shop", proxy = "sidecar", locality } = options;
  const labels = {
    app,
    ...(version ? { version } : {}),
    "service.istio.io/canonical-name": app,
    "service.istio.io/canonical-revision": version ?? "latest",
    ...(proxy === "none" ? {} : { "security.istio.io/tlsMode": "istio" }),
    ...(locality ? { "istio-locality": locality.replaceAll("/", ".") } : {}),
    ...options.labels,
  };
  const name = options.name ?? (version ? `${app}-${version}` : app);
  return { ...options, name, namespace, proxy, labels, serviceAccount: app, address, outbound };
}

/** Returns a workload by name. @throws Error if the mesh has none of that name */
export function workloadNamed<W extends Workload>(workloads: readonly W[], name: string): W {
  const found = workloads.find((w) => w.name === name);
  if (found === undefined) throw new Error(`no workload ${name} in this mesh`);
  return found;
}
