import { type Problem, formatProblem } from "@istiod/config-schema";
import {
  explain,
  formatExplanations,
  nearestResources,
  type ResourceExplanation,
  resourceType,
  resourceTypes,
} from "@istiod/explain";
import type { Database } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";

/** A request to explain resources of a proxy, as flags or URL parameters. */
export interface ExplainRequest {
  /** Name of a resource. Default: all resources of the proxy. */
  readonly resource?: string | undefined;
  /** Short name, such as `cds`, or type URL. Default: every type. */
  readonly type?: string | undefined;
  /** Number of dry runs. Default: 200 for one resource, 0 for all. */
  readonly tries?: string | undefined;
}

/** The explanation of a proxy's resources, for the command line and `/debug/explain`. */
export interface ProxyExplanation {
  readonly proxy: string;
  /** Set for a connected proxy, which is explained by its node; any other proxy is explained by its Pod. */
  readonly connected: boolean;
  readonly resources: readonly ResourceExplanation[];
  /** Rejected objects. */
  readonly refused: readonly string[];
}

/** A running istiod serves nothing else meanwhile: one or two seconds in a mesh of several hundred services. */
const triesOfOne = 200;
const mostTries = 20_000;

/**
 * Explains the resources of a proxy.
 *
 * @throws Error if the type or the number of tries is invalid, or the proxy has no resource of that name
 */
export function explainProxy(
  database: Database<Proxy>,
  proxy: Proxy,
  problems: readonly Problem[],
  { resource, type, tries }: ExplainRequest,
  connected = false,
): ProxyExplanation {
  const found = type ? resourceType(type) : undefined;
  if (type && found === undefined)
    throw new Error(`type ${type}: expected one of ${resourceTypes.map(({ short }) => short).join(", ")}`);
  const types = found === undefined ? resourceTypes : [found];
  const count = tries === undefined || tries === "" ? (resource ? triesOfOne : 0) : Number(tries);
  if (!Number.isInteger(count) || count < 0 || count > mostTries)
    throw new Error(`tries ${tries}: expected a whole number up to ${mostTries}`);
  const view = database.view(proxy);
  try {
    const resources = explain(database, view, { types, ...(resource && { name: resource }), tries: count });
    if (resource && resources.length === 0) {
      const near = nearestResources(view, resource, types).map(({ type: short, name }) => `${short} ${name}`);
      const meant = near.length === 0 ? "" : `; did you mean ${near.join(" or ")}?`;
      throw new Error(
        `${proxy.nodeId} has no resource ${JSON.stringify(resource)}${found ? ` of type ${found.short}` : ""}${meant}`,
      );
    }
    return {
      proxy: proxy.nodeId,
      connected,
      resources,
      refused: problems.filter(({ severity }) => severity === "error").map(formatProblem),
    };
  } finally {
    view.release();
  }
}

/** Formats an explanation as text. */
export function formatProxyExplanation({ resources, refused }: ProxyExplanation): string {
  return (
    formatExplanations(resources) +
    (refused.length === 0
      ? ""
      : `\nset aside, and so part of nothing\n${refused.map((line) => `  ${line}\n`).join("")}`)
  );
}
