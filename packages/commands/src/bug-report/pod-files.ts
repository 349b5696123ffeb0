import type { PodRequest } from "@istiod/kubernetes";
import type { Cluster } from "../cluster/cluster.js";
import { containerLog, type LogWindow } from "./log-window.js";
import type { PodContainer } from "./pod-selection.js";
import type { ReportFiles } from "./report-files.js";

/** Name of istiod's container, and of the one of Envoy and its agent. */
const [istiodContainer, proxyContainer] = ["discovery", "istio-proxy"];

/** Debug endpoints of istiod, by file. */
const istiodPaths: readonly (readonly [file: string, path: string])[] = [
  ...[
    "adsz",
    "analyze",
    "authorizationz",
    "cachez",
    "changes",
    "clusterz",
    "configz",
    "endpointz",
    "instancesz",
    "mesh",
    "networkz",
    "push_status",
    "registryz",
    "replicas",
    "status",
    "syncz",
    "telemetryz",
  ].map((name) => [name, `/debug/${name}`] as const),
  ["metrics", "/metrics"],
  ["version", "/version"],
];

/** Pages of Envoy's admin interface, by file. */
const envoyPaths: readonly (readonly [file: string, path: string])[] = [
  ["certs", "/certs"],
  ["clusters", "/clusters"],
  ["config_dump", "/config_dump?include_eds"],
  ["listeners", "/listeners"],
  ["memory", "/memory"],
  ["runtime", "/runtime"],
  ["server_info", "/server_info"],
  ["stats_prometheus", "/stats/prometheus"],
];

/** Milliseconds after which one page is given up. */
const requestTimeoutMs = 30_000;

/** Ports of istiod's debug endpoints and of Envoy's admin interface, at the Pod's loopback address. */
const [istiodPort, envoyPort] = [15014, 15000];

/** Sends a request to a port of a Pod, at most for some milliseconds. */
export type PodRequester = (request: PodRequest, timeoutMs: number) => Promise<string>;

export interface PodFilesOptions {
  readonly window: LogWindow;
  /** Leaves out the dumps of Envoys. */
  readonly skipsProxyDebug: boolean;
}

/** Reports whether a report has files of a container: istiod's, or that of a proxy. */
export function isReported({ pod, container }: PodContainer, istioNamespace: string): boolean {
  return container === proxyContainer || (container === istiodContainer && pod.metadata.namespace === istioNamespace);
}

/** Plans the log of a container, and what istiod or Envoy answers there. */
export function addPodFiles(
  { client }: Cluster,
  request: PodRequester,
  files: ReportFiles,
  { pod, container }: PodContainer,
  { window, skipsProxyDebug }: PodFilesOptions,
): void {
  const { namespace, name } = pod.metadata;
  const isIstiod = container === istiodContainer;
  const folder = `${isIstiod ? "istio" : "proxies"}/${namespace}/${name}`;
  const place = { namespace, pod: name, container };
  files.later(`${folder}/${container}.log`, ({ signal }) => containerLog(client, place, { ...window, signal }));
  if (!isIstiod && skipsProxyDebug) return;
  const [port, paths] = isIstiod ? [istiodPort, istiodPaths] : [envoyPort, envoyPaths];
  for (const [file, path] of paths)
    files.later(`${folder}/${isIstiod ? `debug/${file}` : file}`, ({ timeoutMs }) =>
      request({ namespace, pod: name, port, path }, Math.min(timeoutMs, requestTimeoutMs)),
    );
}
