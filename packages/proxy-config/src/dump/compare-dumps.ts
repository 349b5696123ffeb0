import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { createTwoFilesPatch } from "diff";
import { compare } from "../resources/cluster-name.js";
import { type ConfigDump, type DumpSection, isObject, objectIn, objectsIn, section } from "./config-dump.js";

/** The comparison of one section of two dumps. */
export interface Comparison {
  readonly part: "Clusters" | "Listeners" | "Routes";
  /** Unified diff from the control plane's section to the proxy's; empty if they are equal. */
  readonly diff: string;
  /** Time when the proxy last loaded one of the resources; undefined if unknown. */
  readonly lastUpdated: Date | undefined;
}

/** Number of context lines around a difference. */
const context = 7;

/**
 * Compares the clusters, listeners and routes that a control plane sent with those of the proxy. Ignores resources
 * of the bootstrap, versions and times.
 *
 * @throws ProxyConfigError `missing-section`
 */
export function compareDumps(controlPlane: ConfigDump, proxy: ConfigDump): readonly Comparison[] {
  return parts.map(({ part, name, list, resourceIn }) => {
    const [sent, own] = [controlPlane, proxy].map((dump) => objectsIn(section(dump, name), list));
    const text = (entries: readonly JsonObject[] = []): string =>
      `${JSON.stringify(sortedResources(entries, resourceIn), undefined, 4)}\n`;
    const [before, after] = [text(sent), text(own)];
    return { part, diff: before === after ? "" : unifiedDiff(part, before, after), lastUpdated: latest(own ?? []) };
  });
}

/** Formats the comparison like `istioctl proxy-status`. */
export function formatComparison(comparisons: readonly Comparison[]): string {
  return comparisons
    .map(({ part, diff, lastUpdated }) => {
      const loaded =
        part === "Routes" && lastUpdated
          ? ` (RDS last loaded at ${lastUpdated.toUTCString().replace("GMT", "UTC")})`
          : "";
      return diff === "" ? `${part} Match${loaded}\n` : `${part} Don't Match${loaded}\n${diff}\n`;
    })
    .join("");
}

interface Part {
  readonly part: Comparison["part"];
  readonly name: DumpSection;
  readonly list: string;
  readonly resourceIn: (entry: JsonObject) => JsonObject | undefined;
}

const parts: readonly Part[] = [
  {
    part: "Clusters",
    name: "ClustersConfigDump",
    list: "dynamicActiveClusters",
    resourceIn: (entry) => objectIn(entry, "cluster"),
  },
  {
    part: "Listeners",
    name: "ListenersConfigDump",
    list: "dynamicListeners",
    resourceIn: (entry) => objectIn(objectIn(entry, "activeState"), "listener"),
  },
  {
    part: "Routes",
    name: "RoutesConfigDump",
    list: "dynamicRouteConfigs",
    resourceIn: (entry) => objectIn(entry, "routeConfig"),
  },
];

function sortedResources(entries: readonly JsonObject[], resourceIn: Part["resourceIn"]): JsonValue[] {
  const found = entries.map(resourceIn).filter((resource) => resource !== undefined);
  return found.sort((a, b) => compare(String(a["name"] ?? ""), String(b["name"] ?? ""))).map(withSortedKeys);
}

/** Sorts keys, because two serializers of the same message may order them differently. */
function withSortedKeys(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withSortedKeys);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => compare(a, b))
      .map(([key, item]) => [key, withSortedKeys(item)]),
  );
}

function unifiedDiff(part: string, before: string, after: string): string {
  const patch = createTwoFilesPatch(`Istiod ${part}`, `Envoy ${part}`, before, after, undefined, undefined, {
    context,
  });
  return patch.slice(patch.indexOf("--- "));
}

function latest(entries: readonly JsonObject[]): Date | undefined {
  const times = entries
    .map((entry) => entry["lastUpdated"] ?? objectIn(entry, "activeState")?.["lastUpdated"])
    .filter((time) => typeof time === "string");
  return times.length === 0 ? undefined : new Date(Math.max(...times.map((time) => Date.parse(time))));
}
