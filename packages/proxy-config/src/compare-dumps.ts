import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { createTwoFilesPatch } from "diff";
import { compare } from "./cluster-name.js";
import { type ConfigDump, type DumpSection, isObject, objectIn, objectsIn, section } from "./config-dump.js";

/** A part of two dumps, compared. */
export interface Comparison {
  readonly part: "Clusters" | "Listeners" | "Routes";
  /** The differences from the control plane's to the proxy's, as a unified diff; empty if there are none. */
  readonly diff: string;
  /** When the proxy last loaded one of the resources; undefined if it does not say. */
  readonly lastUpdated: Date | undefined;
}

/** Lines around a difference. */
const context = 7;

/**
 * Compares the clusters, listeners and routes that a control plane sent with those that the proxy has. What the proxy
 * has from its bootstrap, versions and times are left out.
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

/** The comparison in the words of `istioctl proxy-status`. */
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

/** Keys in order, since two writers of the same message may differ in it. */
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
