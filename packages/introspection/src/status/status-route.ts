import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import type { AnswerQueue, Route } from "@istiod/admin-server";
import { joinPages } from "@istiod/replicas";
import { type Link, respond, type StatusModel } from "@istiod/status-page";
import { statusModel, type StatusSources } from "./status-model.js";

export interface StatusRouteOptions extends StatusSources {
  /** The queue of answers. */
  readonly queue: Pick<AnswerQueue, "run">;
  /** Address of the metrics, if they have a port of their own. */
  readonly monitoring: () => { readonly host: string; readonly port: number } | undefined;
}

/** Debug pages that answer without parameters, and what is on them. */
const debugPages: readonly Link[] = (
  [
    ["syncz", "sync status of proxies"],
    ["changes", "last changes and their pushes"],
    ["status", "proxies on which recently changed objects are live"],
    ["connections", "connected proxies"],
    ["adsz", "what proxies subscribe to"],
    ["push_status", "faults in what proxies have"],
    ["analyze", "findings about objects"],
    ["configz", "Istio objects"],
    ["registryz", "services"],
    ["endpointShardz", "endpoints"],
    ["instancesz", "services of each proxy"],
    ["authorizationz", "authorization policies"],
    ["telemetryz", "telemetry settings"],
    ["pushcontext", "policies and network gateways"],
    ["mesh", "mesh configuration"],
    ["networkz", "gateways between networks"],
    ["clusterz", "clusters of the mesh"],
    ["mcsz", "multi-cluster services"],
    ["krtz", "objects by kind"],
    ["resourcesz", "kinds that are read"],
    ["cachez", "distinct resources of proxies"],
  ] as const
).map(([name, about]) => ({ href: `./debug/${name}?pretty`, label: name, about }));

const documentation: readonly Link[] = [
  {
    href: "https://istio.io/latest/docs/ops/diagnostic-tools/proxy-cmd/",
    label: "Debugging Envoy and istiod",
    about: "what SYNCED, STALE and NOT SENT mean",
  },
  {
    href: "https://istio.io/latest/docs/reference/config/",
    label: "Configuration reference",
    about: "kinds and their fields",
  },
  {
    href: "https://istio.io/latest/docs/reference/config/analysis/",
    label: "Analysis messages",
    about: "findings and what to do about them",
  },
];

/** The status page at `/`, of all replicas if others are known. */
export function statusRoute({ monitoring, queue, ...sources }: StatusRouteOptions): Route {
  return async ({ url, http }, response) => {
    const links: StatusModel["pages"] = [
      { href: "./debug", label: "All debug pages", about: "with those of one proxy" },
      { href: metricsAddress(http, monitoring()), label: "Metrics", about: "for Prometheus" },
      ...debugPages,
    ];
    const { accept } = http.headers;
    const request = { method: http.method ?? "", query: url.searchParams, ...(accept !== undefined && { accept }) };
    // The queue does not wait for other replicas.
    const pages = await sources.replicas?.pages();
    const model = async (): Promise<StatusModel> => {
      const own = await statusModel(sources, { pages: links, documentation });
      return pages && sources.replicas ? joinPages(own, sources.replicas.id, pages) : own;
    };
    await queue.run(response, async () => {
      const { status, headers, body } = await respond(request, model);
      response.writeHead(status, headers).end(body);
    });
  };
}

/** On the host that was asked, where metrics are served on all of its addresses. */
function metricsAddress(
  { headers, socket }: IncomingMessage,
  monitoring: { readonly host: string; readonly port: number } | undefined,
): string {
  if (monitoring === undefined) return "./metrics";
  const asked = `http://${headers.host ?? ""}`;
  const named = URL.canParse(asked) ? new URL(asked).hostname : bracketed(socket.localAddress ?? "localhost");
  const host = ["::", "0.0.0.0"].includes(monitoring.host) ? named : bracketed(monitoring.host);
  return `http://${host}:${monitoring.port}/metrics`;
}

function bracketed(host: string): string {
  return isIP(host) === 6 ? `[${host}]` : host;
}
