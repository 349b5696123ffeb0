import {
  assignments,
  assignmentTable,
  bootstrapJson,
  bootstrapTable,
  clusterHostsJson,
  clusters,
  clusterTable,
  endpointTable,
  extensionsJson,
  extensionTable,
  formatSummary,
  formatTable,
  formatValue,
  listeners,
  listenerTable,
  routes,
  routeTable,
  secrets,
  secretsJson,
  secretTable,
} from "@istiod/proxy-config";
import { booleanArgument } from "@istiod/settings/command";
import { InvalidArgumentError, Option } from "commander";
import type { DumpSource } from "./proxy-dump.js";

/** Filters of all kinds, as istioctl names them. */
export interface FilterValues {
  readonly fqdn?: string;
  readonly port?: number;
  readonly subset?: string;
  readonly direction?: string;
  readonly address?: string;
  readonly type?: string;
  readonly name?: string;
  readonly cluster?: string;
  readonly status?: string;
  readonly verbose?: boolean;
  readonly withHeaders?: boolean;
}

/** A subcommand of `istiod proxy-config`. */
export interface ProxyConfigKind {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly about: string;
  readonly filters: readonly (() => Option)[];
  /** Default: short. */
  readonly defaultOutput?: "json";
  readonly summary: (source: DumpSource, filter: FilterValues) => Promise<string>;
  readonly value: (source: DumpSource, filter: FilterValues, format: "json" | "yaml") => Promise<string>;
}

const filters = {
  fqdn: () => new Option("--fqdn <text>", "clusters with this in the service's FQDN"),
  port: () => new Option("--port <port>", "resources of this port").argParser(portNumber),
  subset: () => new Option("--subset <text>", "clusters with this in the subset's name"),
  direction: () => new Option("--direction <direction>", "clusters of this direction: inbound or outbound"),
  address: () => new Option("--address <address>", "resources with this address"),
  type: () => new Option("--type <type>", "listeners of this type: HTTP, TCP, HTTP+TCP or UNKNOWN"),
  name: () => new Option("--name <name>", "route configurations of this name"),
  cluster: () => new Option("--cluster <name>", "endpoints of this cluster"),
  status: () => new Option("--status <status>", "endpoints with this health, such as healthy"),
  verbose: () =>
    new Option("--verbose [bool]", "a row for each filter chain and route")
      .argParser(booleanArgument)
      .preset("true")
      .default(true),
  withHeaders: () =>
    new Option("--with-headers [bool]", "a title above each table")
      .argParser(booleanArgument)
      .preset("true")
      .default(false),
};

/** The subcommands of `istiod proxy-config`. Source: istioctl/pkg/proxyconfig. */
export const proxyConfigKinds: readonly ProxyConfigKind[] = [
  {
    name: "clusters",
    aliases: ["cluster", "c"],
    about: "Print the clusters of a proxy.",
    filters: [filters.fqdn, filters.port, filters.subset, filters.direction],
    summary: async (source, filter) => formatTable(clusterTable(clusters(await source.dump(), filter))),
    value: async (source, filter, format) =>
      formatValue(
        clusters(await source.dump(), filter).map(({ json }) => json),
        format,
      ),
  },
  {
    name: "listeners",
    aliases: ["listener", "l"],
    about: "Print the listeners of a proxy.",
    filters: [filters.address, filters.port, filters.type, filters.verbose],
    summary: async (source, filter) =>
      formatTable(listenerTable(listeners(await source.dump(), filter), { verbose: filter.verbose }), 1),
    value: async (source, filter, format) =>
      formatValue(
        listeners(await source.dump(), filter).map(({ json }) => json),
        format,
      ),
  },
  {
    name: "routes",
    aliases: ["route", "r"],
    about: "Print the route configurations of a proxy.",
    filters: [filters.name, filters.verbose],
    summary: async (source, filter) =>
      formatTable(routeTable(routes(await source.dump(), filter), { verbose: filter.verbose })),
    value: async (source, filter, format) =>
      formatValue(
        routes(await source.dump(), filter).map(({ json }) => json),
        format,
      ),
  },
  {
    name: "endpoints",
    aliases: ["endpoint", "ep"],
    about: "Print the endpoints of a proxy; those of an Envoy with its outlier checks.",
    filters: [filters.address, filters.port, filters.cluster, filters.status],
    summary: async (source, filter) => {
      const found = await source.endpoints();
      return formatTable(
        "hosts" in found
          ? endpointTable(found.hosts, filter)
          : assignmentTable(assignments(found.dump, filter), { columns: "outlier" }),
      );
    },
    value: async (source, filter, format) => {
      const found = await source.endpoints();
      return formatValue(
        "hosts" in found
          ? clusterHostsJson(found.hosts, filter)
          : assignments(found.dump, filter).map(({ json }) => json),
        format,
      );
    },
  },
  {
    name: "eds",
    aliases: [],
    about: "Print the endpoints of a proxy as the control plane gives them, with their localities.",
    filters: [filters.address, filters.port, filters.cluster, filters.status],
    summary: async (source, filter) => formatTable(assignmentTable(assignments(await source.dump(), filter))),
    value: async (source, filter, format) =>
      formatValue(
        assignments(await source.dump(), filter).map(({ json }) => json),
        format,
      ),
  },
  {
    name: "secrets",
    aliases: ["secret", "s"],
    about: "Print the certificates of a proxy, without private keys.",
    filters: [],
    summary: async (source) => {
      const found = secrets(await source.dump());
      return found.length === 0 ? "No active or warming secrets found.\n" : formatTable(secretTable(found));
    },
    value: async (source, _, format) => formatValue(secretsJson(await source.dump()), format),
  },
  {
    name: "ecds",
    aliases: ["ec"],
    about: "Print the extension configurations of a proxy.",
    filters: [],
    summary: async (source) => formatTable(extensionTable(await source.dump())),
    value: async (source, _, format) => formatValue(extensionsJson(await source.dump()), format),
  },
  {
    name: "bootstrap",
    aliases: ["b"],
    about: "Print the bootstrap of an Envoy; short: its versions.",
    filters: [],
    defaultOutput: "json",
    summary: async (source) => formatTable(bootstrapTable(await source.dump()), 1),
    value: async (source, _, format) => formatValue(bootstrapJson(await source.dump()), format),
  },
  {
    name: "all",
    aliases: ["a"],
    about: "Print everything.",
    filters: [
      filters.fqdn,
      filters.port,
      filters.subset,
      filters.direction,
      filters.address,
      filters.type,
      filters.name,
      filters.verbose,
      filters.withHeaders,
    ],
    summary: async (
      source,
      { verbose = true, withHeaders = false, fqdn, port, subset, direction, address, type, name },
    ) => {
      const selected = {
        clusters: { fqdn, port, subset, direction },
        listeners: { address, port, type },
        routes: { name },
        endpoints: { address, port },
      };
      return formatSummary(await source.dump(), { ...selected, verbose, headers: withHeaders });
    },
    value: async (source, _, format) => formatValue({ configs: [...(await source.dump()).configs] }, format),
  },
];

function portNumber(value: string): number {
  const port = Number(value);
  if (!/^\d+$/.test(value) || port > 65535) throw new InvalidArgumentError("expected a port");
  return port;
}
