import { html, type Html, link } from "./html.js";
import type { Link, ProxyStatus } from "./model.js";
import { assessProxies } from "./proxy-state.js";
import { proxyColumns } from "./sections/proxies.js";
import { style } from "./style.js";
import { mark, section, short, table } from "./table.js";
import { isoTime } from "./time.js";

/** A proxy with what it was sent, as plain data. */
export interface ProxyDetails {
  /** Time of the state in milliseconds since the epoch. */
  readonly at: number;
  readonly proxy: ProxyStatus;
  /** Routes of VirtualServices. */
  readonly routes: readonly RouteRow[];
  readonly destinations: readonly DestinationRow[];
  readonly ports: readonly PortRow[];
}

export interface RouteRow {
  readonly domains: readonly string[];
  readonly match: string;
  readonly shares: readonly { readonly cluster: string; readonly percent: number }[];
  readonly virtualService: string;
}

export interface DestinationRow {
  readonly cluster: string;
  readonly tls: string;
  /** `name.namespace` of the DestinationRule; empty if there is none. */
  readonly destinationRule: string;
}

/** Mutual TLS at a port of the workload; 0: all other ports. */
export interface PortRow {
  readonly port: number;
  readonly mode: string;
}

/** Maximum number of rows of a table; the complete configuration is linked. */
const most = 200;
const domainsShown = 3;

/** Renders the page of one proxy as self-contained HTML, with links to further pages. */
export function renderProxyPage(details: ProxyDetails, pages: readonly Link[]): string {
  const { at, proxy } = details;
  const { markup } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${proxy.name}: istiod</title>
<style>${style}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the proxy</a>
<header>
<h1>istiod</h1>
<p>as of <time datetime="${isoTime(at)}">${isoTime(at).replace("T", " ").slice(0, 19)} UTC</time></p>
<nav aria-label="View"><a href="../">Status</a></nav>
</header>
<main id="main" tabindex="-1">
${stateSection(details)}${routesSection(details)}${destinationsSection(details)}${portsSection(details)}${pagesSection(pages)}</main>
</body>
</html>
`;
  return markup;
}

function stateSection({ at, proxy }: ProxyDetails): Html {
  const { href: _, ...unlinked } = proxy;
  const { proxies } = assessProxies([unlinked]);
  const columns = proxyColumns(proxies, at, proxy.replica !== undefined);
  return section("state", proxy.name, undefined, table({ caption: "State of each type", columns, rows: proxies }));
}

function routesSection({ routes }: ProxyDetails): Html {
  const columns = [
    { label: "Hosts", cell: ({ domains }: RouteRow) => short(listed(domains)) },
    { label: "Match", cell: ({ match }: RouteRow) => match || "/*" },
    {
      label: "Split",
      cell: ({ shares }: RouteRow) =>
        shares.length === 0
          ? html`<span class="note">no destination</span>`
          : html`${shares.map(({ cluster, percent }, i) => html`${i > 0 && html`<br>`}${percentText(percent)} ${destinationText(cluster)}`)}`,
    },
    { label: "VirtualService", cell: ({ virtualService }: RouteRow) => virtualService },
  ];
  return bounded("routes", "Traffic split", routes, "No VirtualService configures a route of this proxy.", (rows) =>
    table({ caption: "Routes with the share of each destination", columns, rows }),
  );
}

function destinationsSection({ destinations }: ProxyDetails): Html {
  const columns = [
    { label: "Destination", cell: ({ cluster }: DestinationRow) => destinationText(cluster) },
    { label: "Connections", cell: ({ tls }: DestinationRow) => mark(tls.startsWith("mutual") ? "ok" : "idle", tls) },
    { label: "DestinationRule", cell: ({ destinationRule }: DestinationRow) => destinationRule },
  ];
  return bounded("destinations", "Mutual TLS to destinations", destinations, "It has no destinations.", (rows) =>
    table({ caption: "Destinations with the TLS of connections to them", columns, rows }),
  );
}

function portsSection({ proxy, ports }: ProxyDetails): Html | false {
  if (proxy.kind !== "sidecar") return false;
  const columns = [
    { label: "Port", cell: ({ port }: PortRow) => (port === 0 ? "all others" : String(port)) },
    { label: "Mode", cell: ({ mode }: PortRow) => mark(mode === "STRICT" ? "ok" : "idle", mode) },
  ];
  return bounded("ports", "Mutual TLS from clients", ports, "It has no inbound listener.", (rows) =>
    table({ caption: "Ports of the workload with the mode of mutual TLS", columns, rows }),
  );
}

function pagesSection(pages: readonly Link[]): Html {
  const items = pages.map(
    ({ href, label, about }) => html`<li>${link(href, label)} <span class="note">${about}</span></li>\n`,
  );
  return section("pages", "More of this proxy", undefined, html`<ul>\n${items}</ul>\n`);
}

function bounded<T>(
  id: string,
  title: string,
  rows: readonly T[],
  empty: string,
  show: (rows: readonly T[]) => Html,
): Html {
  if (rows.length === 0) return section(id, title, undefined, html`<p class="empty">${empty}</p>\n`);
  const rest = rows.length - most;
  const content = show(rows.slice(0, most));
  return section(id, title, rows.length, rest > 0 ? html`${content}<p class="more">and ${rest} more</p>\n` : content);
}

function listed(names: readonly string[]): string {
  const rest = names.length - domainsShown;
  return `${names.slice(0, domainsShown).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}

/** Formats a cluster of Istio's form as `host:port`, with its subset. */
function destinationText(cluster: string): Html {
  const [, port = "", subset = "", host] = cluster.split("|");
  if (host === undefined) return html`<span class="name">${cluster}</span>`;
  return html`<span class="name">${host}:${port}</span>${subset !== "" && html` <span class="note">subset ${subset}</span>`}`;
}

function percentText(percent: number): string {
  return `${Number(percent.toFixed(percent % 1 === 0 ? 0 : 1))} %`;
}
