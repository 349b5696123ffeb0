import { formatProblem, type Problem } from "@istiod/config-schema";
import type { Database } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";
import { explain, type ResourceExplanation } from "./explain.js";
import { formatExplanations } from "./format.js";
import type { ConnectedProxy } from "./proxy-state.js";
import { nearestResources } from "./resource-names.js";
import { type ResourceType, resourceType, resourceTypes } from "./resource-types.js";

/** A request to explain resources of a proxy, as flags or URL parameters. */
export interface ExplainRequest {
  /** Name of a resource. Default: all resources of the proxy. */
  readonly resource?: string | undefined;
  /** Short name, such as `cds`, or type URL. Default: every type. */
  readonly type?: string | undefined;
  /** Maximum number of dry runs. Default: 200 for one resource, 0 for all. */
  readonly tries?: string | undefined;
}

/** The explanation of a proxy's resources, for the command line and `/debug/explain`. */
export interface ProxyExplanation {
  readonly proxy: string;
  /** Set for a connected proxy, which is explained by its node; any other proxy is explained by its Pod. */
  readonly connected: boolean;
  readonly resources: readonly ResourceExplanation[];
  /** Rejected objects, each with file, line and reason. */
  readonly rejected: readonly string[];
}

/** Takes one or two seconds in a mesh of several hundred services, during which a running istiod serves nothing. */
const defaultTries = 200;
const maxTries = 20_000;

/**
 * Explains the resources of a proxy.
 *
 * @param connection the connected proxy; default: it is not connected
 * @throws Error if the type or the number of tries is invalid, or the proxy has no resource of that name
 */
export function explainProxy(
  database: Database<Proxy>,
  proxy: Proxy,
  problems: readonly Problem[],
  { resource, type, tries }: ExplainRequest,
  connection?: ConnectedProxy,
): ProxyExplanation {
  const found = type ? parseType(type) : undefined;
  const types = found === undefined ? resourceTypes : [found];
  const view = database.view(proxy);
  try {
    const resources = explain(database, view, {
      types,
      ...(resource && { name: resource }),
      connection,
      tries: tries ? parseTries(tries) : resource ? defaultTries : 0,
    });
    if (resource && resources.length === 0) {
      const near = nearestResources(view, resource, types).map(({ type: short, name }) => `${short} ${name}`);
      const suggestion = near.length === 0 ? "" : `; did you mean ${near.join(" or ")}?`;
      const ofType = found ? ` of type ${found.short}` : "";
      throw new Error(`${proxy.nodeId} has no resource ${JSON.stringify(resource)}${ofType}${suggestion}`);
    }
    const rejected = problems.filter(({ severity }) => severity === "error").map(formatProblem);
    return { proxy: proxy.nodeId, connected: connection !== undefined, resources, rejected };
  } finally {
    view.release();
  }
}

/** Formats an explanation as text. */
export function formatProxyExplanation({ resources, rejected }: ProxyExplanation): string {
  const lines = rejected.map((line) => `  ${line}\n`);
  return formatExplanations(resources) + (lines.length === 0 ? "" : `\nrejected objects\n${lines.join("")}`);
}

function parseType(name: string): ResourceType {
  const found = resourceType(name);
  if (found === undefined)
    throw new Error(`type ${name}: expected one of ${resourceTypes.map(({ short }) => short).join(", ")}`);
  return found;
}

function parseTries(tries: string): number {
  const count = Number(tries);
  if (!Number.isInteger(count) || count < 0 || count > maxTries)
    throw new Error(`tries ${tries}: expected a whole number up to ${maxTries}`);
  return count;
}
