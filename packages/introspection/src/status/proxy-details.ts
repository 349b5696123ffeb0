import { messageRegistry } from "@istiod/explain";
import {
  clusters,
  clusterTls,
  configDump as normalized,
  inboundTls,
  listeners,
  managedBy,
  routes,
  routeTraffic,
} from "@istiod/proxy-config";
import { type Ask, askProxyReplica, formatSilent } from "@istiod/replicas";
import { reasonOf } from "@istiod/runtime";
import { type Link, pageHeaders, type ProxyDetails, renderProxyPage } from "@istiod/status-page";
import type { Connection } from "@istiod/xds-server";
import { type DebugAnswer, type DebugCommand, textAnswer } from "../debug/command.js";
import { configDump } from "../debug/config-dump.js";
import { notConnected, ofProxy, type ProxyCommandsOptions } from "../debug/proxy-commands.js";
import { proxyStatus, type StatusSources } from "./status-model.js";

/** Answers with the page of a proxy as data, for the replica that renders it. */
export function proxyDetailsCommand(options: ProxyCommandsOptions, sources: StatusSources): DebugCommand {
  return {
    name: "proxy_details",
    about: "Routes and mutual TLS of a proxy that is connected to this replica; ?proxyID=",
    answer: (request) =>
      ofProxy(options, request, async (connection) => ({ json: await proxyDetails(connection, sources) })),
  };
}

/** Answers with the page of a proxy, whichever replica it is connected to. */
export function proxyPageCommand(ask: Ask, own: DebugCommand): DebugCommand {
  return {
    name: "proxy",
    about: "Page of a proxy: its state, traffic split and mutual TLS; ?proxyID=",
    asksReplicas: true,
    answer: async (request) => {
      const { query, namespace } = request;
      const id = query.get("proxyID");
      if (!id) return textAnswer(400, "You must provide a proxyID in the query string");
      // A caller that may see one namespace does not have other replicas asked.
      if (namespace !== undefined) return pageOf(await own.answer(request));
      try {
        const { found, silent } = await askProxyReplica(ask, id, own.name, new URLSearchParams({ proxyID: id }));
        if (found === undefined) return textAnswer(404, `${notConnected}\n${formatSilent(silent)}`.trimEnd());
        return pageOf({ json: found.answer }, found.instance.name);
      } catch (error) {
        return textAnswer(502, reasonOf(error));
      }
    },
  };
}

function pageOf(answer: DebugAnswer, replica?: string): DebugAnswer {
  if (!("json" in answer)) return answer;
  if (!isDetails(answer.json)) return textAnswer(502, "the replica's answer has another form");
  const { proxy } = answer.json;
  const details = { ...answer.json, proxy: { ...proxy, ...(replica !== undefined && { replica }) } };
  return { status: 200, text: renderProxyPage(details, pagesOf(proxy.node)), headers: pageHeaders };
}

function pagesOf(node: string): readonly Link[] {
  const of = (name: string, command?: string): string =>
    `./${name}?${new URLSearchParams({ ...(command !== undefined && { command }), proxyID: node, pretty: "" }).toString()}`;
  return [
    { href: of("replicas", "config_dump"), label: "Configuration", about: "all that was sent to it, as JSON" },
    { href: of("replicas", "explain"), label: "Explanation", about: "which object each part of it is from, as JSON" },
  ];
}

interface NodeDetails extends ProxyDetails {
  readonly proxy: ProxyDetails["proxy"] & { readonly node: string };
}

function isDetails(value: unknown): value is NodeDetails {
  const { at, proxy, ...lists } = value as Partial<NodeDetails>;
  const of = proxy as Partial<NodeDetails["proxy"]> | undefined;
  return (
    typeof at === "number" &&
    typeof of?.node === "string" &&
    typeof of.name === "string" &&
    Array.isArray(of.types) &&
    [lists.routes, lists.destinations, lists.ports].every(Array.isArray)
  );
}

async function proxyDetails(connection: Connection, sources: StatusSources): Promise<NodeDetails> {
  const dump = normalized(await configDump(connection, messageRegistry(), false));
  return {
    at: Date.now(),
    proxy: proxyStatus(connection, sources),
    routes: routeTraffic(routes(dump)).map(({ name: _, ...route }) => route),
    destinations: clusters(dump)
      .filter(({ message: { name } }) => name.startsWith("outbound|"))
      .map((cluster) => ({
        cluster: cluster.message.name,
        tls: clusterTls(cluster),
        destinationRule: managedBy(cluster.message.metadata),
      })),
    ports: inboundTls(listeners(dump)),
  };
}
