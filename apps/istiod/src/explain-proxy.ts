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

/** What is to be explained of a proxy, as a flag or a URL names it. */
export interface ExplainRequest {
  /** A resource's name; absent: all that the proxy has. */
  readonly resource?: string | undefined;
  /** `cds`, …, or a type URL; absent: every type. */
  readonly type?: string | undefined;
  /** Absent: 200 for one resource, 0 for all. */
  readonly tries?: string | undefined;
}

/** What is told of a proxy, on the command line and by `/debug/explain` alike. */
export interface ProxyExplanation {
  readonly proxy: string;
  /** Whether the proxy is connected, and so explained by what it says of itself; where it is not, by its Pod. */
  readonly connected: boolean;
  readonly resources: readonly ResourceExplanation[];
  /** Objects that are set aside, and so part of nothing. */
  readonly refused: readonly string[];
}

/** A running istiod serves nothing else meanwhile: a second or two in a mesh of some hundred services. */
const triesOfOne = 200;
const mostTries = 20_000;

/**
 * Explains what a proxy has.
 *
 * @throws Error where the type or the number of tries is none, or the proxy has no resource of that name.
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

/** The same as text for people. */
export function formatProxyExplanation({ resources, refused }: ProxyExplanation): string {
  return (
    formatExplanations(resources) +
    (refused.length === 0
      ? ""
      : `\nset aside, and so part of nothing\n${refused.map((line) => `  ${line}\n`).join("")}`)
  );
}
