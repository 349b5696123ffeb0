import type { Answer } from "./application.js";

/** One workload of a mesh: an application, and the proxy beside it. */
export interface WorkloadOptions {
  /** The service that it belongs to. */
  readonly app: string;
  readonly version?: string;
  /** Default: `shop`. */
  readonly namespace?: string;
  /** Default: the app and the version. */
  readonly name?: string;
  /** A `router` has no application; `none` is an application that nobody stands in front of. Default: `sidecar`. */
  readonly proxy?: "sidecar" | "router" | "none";
  /** What the port of its service is called, and so which protocol it speaks. Default: `http`. */
  readonly portName?: string;
  /** The ports of its service, where it has not the usual one alone. */
  readonly ports?: readonly { readonly name: string; readonly port: number }[];
  /** Its service has no address of its own. */
  readonly headless?: boolean;
  /** `region/zone/subzone`. */
  readonly locality?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** What the application does; default: 200, with what it was asked. */
  readonly answer?: Answer;
  /** Makes the application speak TLS. */
  readonly tls?: { readonly key: string; readonly cert: string };
  /** What the agent is told beside what every agent is told; `{{address}}` is the workload's own. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Fields of its Sidecar beside those that make it reachable; a listener is bound where the workload calls out unless
   * it says otherwise.
   */
  readonly sidecar?: { readonly egress?: readonly object[]; readonly outboundTrafficPolicy?: object };
}

/** A workload in its place. */
export interface Workload extends WorkloadOptions {
  readonly name: string;
  readonly namespace: string;
  readonly proxy: "sidecar" | "router" | "none";
  readonly serviceAccount: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Where others reach it, through its proxy if it has one. */
  readonly address: string;
  /** Where it reaches others, through its proxy. */
  readonly outbound: string;
}

/** The port of every service and of every listener in front of an application. */
export const servicePort = 8000;
/** The port of an application that has a proxy in front of it. */
export const applicationPort = 9000;

/** Puts a workload in its place. */
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
