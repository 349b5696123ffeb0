import { assignments, assignmentTable } from "./resources/endpoints/assignments.js";
import { bootstrapTable, hasBootstrap } from "./resources/bootstrap.js";
import { type ClusterFilter, clusters, clusterTable } from "./resources/clusters.js";
import type { ConfigDump } from "./dump/config-dump.js";
import type { EndpointFilter } from "./resources/endpoints/endpoint-filter.js";
import { type ListenerFilter, listeners, listenerTable } from "./resources/listeners/listeners.js";
import { type RouteFilter, routes, routeTable } from "./resources/routes.js";
import { secrets, secretTable } from "./resources/secrets.js";
import { formatTable } from "./table.js";

/** Filters and format of a complete summary. */
export interface SummaryOptions {
  readonly clusters?: ClusterFilter;
  readonly listeners?: ListenerFilter;
  readonly routes?: RouteFilter;
  readonly endpoints?: EndpointFilter;
  /** Prints a row for each filter chain and route. Default: true. */
  readonly verbose?: boolean;
  /** True if each table has a title. Default: false. */
  readonly headers?: boolean;
  /** Time at which certificates must be valid, in milliseconds since the epoch. Default: now. */
  readonly now?: number;
}

/**
 * Builds all tables of a dump. Each row starts with the type and name of the resource. Dumps of a control plane have no
 * bootstrap.
 */
export function formatSummary(dump: ConfigDump, options: SummaryOptions = {}): string {
  const { verbose, now } = options;
  const parts: readonly (readonly [title: string, table: string])[] = [
    ...(hasBootstrap(dump) ? [["BOOTSTRAP INFO", formatTable(bootstrapTable(dump), 1)] as const] : []),
    ["CLUSTER INFO", formatTable(clusterTable(clusters(dump, options.clusters), true))],
    ["LISTENER INFO", formatTable(listenerTable(listeners(dump, options.listeners), { verbose, named: true }), 1)],
    ["ROUTE INFO", formatTable(routeTable(routes(dump, options.routes), { verbose, named: true }))],
    ["SECRET INFO", formatSecrets(dump, now)],
    ["ENDPOINTS INFO", formatTable(assignmentTable(assignments(dump, options.endpoints), { named: true }))],
  ];
  return parts
    .map(([title, table]) => (options.headers === true ? `------ ${title} ------\n\n${table}` : table))
    .join("\n");
}

function formatSecrets(dump: ConfigDump, now?: number): string {
  const found = secrets(dump, now);
  return found.length === 0 ? "No active or warming secrets found.\n" : formatTable(secretTable(found, true));
}
