import { messageRegistry } from "@istiod/explain";
import { findXdsType } from "@istiod/resources";
import type { Connection } from "@istiod/xds-server";
import { clientStatusCommand } from "./client-status.js";
import { type DebugAnswer, type DebugCommand, type DebugRequest, textAnswer } from "./command.js";
import { configDump, resourcesSent } from "./config-dump.js";
import { connectedProxies } from "./proxies.js";
import { ofProxy, type ProxyCommandsOptions, type StreamCommandsOptions } from "./proxy-commands.js";
import { clientForm, clientsForm, connections, sorted, syncz, withoutEmpty } from "./xds-state.js";

/** Returns the commands about connected proxies. */
export function streamCommands(options: StreamCommandsOptions): readonly DebugCommand[] {
  const { server, proxyOf, canDisconnect } = options;
  const typed = (type: string): DebugCommand => ({
    name: `${type}z`,
    about: `Last ${type.toUpperCase()} resources sent to a proxy; ?proxyID=`,
    answer: (request) =>
      ofProxy({ server, proxyOf }, request, async (connection) => ({
        json: await configsOf(connection, [findXdsType(type)?.typeUrl ?? ""]),
      })),
  });
  const commands: DebugCommand[] = [
    {
      name: "adsz",
      about: "Connected proxies and their subscriptions; ?push=true pushes the current state to all",
      changesState: (query) => Boolean(query.get("push")),
      answer: (request) => adsz({ server, proxyOf }, request),
    },
    {
      name: "syncz",
      about: "Synchronization status of the connected proxies; ?namespace=",
      answer: ({ query }) => ({ json: syncz(server, proxyOf, query.get("namespace")) }),
    },
    clientStatusCommand(options),
    {
      name: "proxies",
      about: "Connected proxies with their identity across replicas",
      answer: () => ({ json: { proxies: connectedProxies(server.connections(), proxyOf) } }),
    },
    { name: "connections", about: "Connected proxies", answer: () => ({ json: connections(server, proxyOf) }) },
    {
      name: "config_dump",
      about: "Last configuration sent to a proxy, as in Envoy's /config_dump; ?proxyID=; ?types=cds,lds; ?include_eds",
      answer: (request) => ofProxy({ server, proxyOf }, request, (connection) => dump(connection, request.query)),
    },
    typed("eds"),
    typed("nds"),
    typed("ecds"),
  ];
  if (canDisconnect) {
    commands.push({
      name: "force_disconnect",
      about: "Disconnects a proxy; ?proxyID=",
      changesState: () => true,
      answer: (request) =>
        ofProxy({ server, proxyOf }, request, ({ id }) =>
          textAnswer(server.disconnect(id, "requested by /debug/force_disconnect") ? 200 : 404, "OK"),
        ),
    });
  }
  return commands;
}

function adsz({ server, proxyOf }: ProxyCommandsOptions, request: DebugRequest): DebugAnswer | Promise<DebugAnswer> {
  if (request.query.get("push")) {
    server.push();
    return { status: 200, text: `Pushed to ${server.connections().length} servers\n` };
  }
  const told = (clients: readonly Connection[]): DebugAnswer => clientsOf(clients, proxyOf);
  return request.query.has("proxyID")
    ? ofProxy({ server, proxyOf }, request, (connection) => told([connection]))
    : told(server.connections());
}

function clientsOf(clients: readonly Connection[], proxyOf: ProxyCommandsOptions["proxyOf"]): DebugAnswer {
  const told = sorted(clients, proxyOf).map((c) => {
    const { metadata } = proxyOf(c);
    const { region, zone, subZone } = c.node.locality ?? {};
    return withoutEmpty({
      ...clientForm(c),
      labels: metadata.LABELS,
      metadata,
      ...(c.node.locality && { locality: withoutEmpty({ region, zone, sub_zone: subZone }) }),
      watches: Object.fromEntries(
        c.subscriptions.map((s) => [
          s.typeUrl,
          s.wildcard ? [...(s.sent ?? [])].map(({ name }) => name) : [...s.names],
        ]),
      ),
    });
  });
  return { json: clientsForm(told) };
}

/** Returns the resources of these types that were last sent to a proxy, as the configs of a dump. */
async function configsOf(
  connection: Connection,
  types: readonly string[],
): Promise<{ readonly configs: readonly object[] }> {
  const lists = await resourcesSent(connection, types, messageRegistry());
  return { configs: lists.flat().map(({ resource }) => resource) };
}

async function dump(connection: Connection, query: URLSearchParams): Promise<DebugAnswer> {
  const types = query.get("types");
  if (types === null || types === "")
    return { json: await configDump(connection, messageRegistry(), query.has("include_eds")) };
  const asked = types.split(",").map((type) => ({ type, url: findXdsType(type)?.typeUrl }));
  const unknown = asked.find(({ url }) => url === undefined);
  if (unknown !== undefined) return textAnswer(400, `types: unknown type ${unknown.type}`);
  return {
    json: await configsOf(
      connection,
      asked.map(({ url = "" }) => url),
    ),
  };
}
