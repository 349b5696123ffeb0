import type { MeshChanges, ResourceChange } from "./changes.js";
import type { ResourceExplanation } from "./explain.js";
import type { Json, JsonDifference } from "./json-difference.js";
import type { ObjectRead } from "./made-from.js";

/** Explanations as text for people. */
export function formatExplanations(explanations: readonly ResourceExplanation[]): string {
  return explanations.map(formatExplanation).join("\n");
}

function formatExplanation({ type, name, version, objects, lists, facts, losses }: ResourceExplanation): string {
  const there = objects.filter(({ kind, read }) => read !== "absent" && kind !== "Environment");
  const mattered = there.filter(({ effect }) => effect?.mattered !== false);
  const without = there.filter(({ effect }) => effect?.mattered === false);
  const absent = objects.filter(({ kind, read }) => read === "absent" && kind !== "Environment");
  const variables = objects.filter(({ kind, read }) => kind === "Environment" && read !== "absent");
  const rows = mattered.map((object) => [
    object.kind,
    objectName(object),
    (object.effect?.fields ?? []).join(", ") + (object.effect?.incomplete ? ", …" : ""),
  ]);
  const listed = (title: string, items: readonly string[]): readonly string[] =>
    items.length === 0 ? [] : [`  ${title}: ${items.join(", ")}`];
  return [
    `${type} ${name}  (version ${version})`,
    ...(rows.length === 0 ? [] : ["  made from", ...table(rows).map((row) => `    ${row}`)]),
    ...listed(
      "environment",
      variables.map((variable) => variable.name),
    ),
    ...listed(
      "read without effect",
      without.map((object) => `${object.kind} ${objectName(object)}`),
    ),
    ...listed(
      "asked for, and not there",
      absent.map((object) => `${object.kind} ${objectName(object)}`),
    ),
    ...listed("looked through the names of", lists),
    ...listed(
      "of the proxy",
      facts
        .filter(({ answer }) => answer !== undefined)
        .map(({ fact, arg, answer }) => `${fact}${arg === undefined ? "" : `(${short(arg)})`}=${short(answer)}`),
    ),
    ...(losses.length === 0
      ? []
      : [
          "  without effect, or in part",
          ...losses.map((loss) => `    ${loss.kind} ${loss.namespace}/${loss.name} ${loss.reason}`),
        ]),
    "",
  ].join("\n");
}

/** Changes as text for people. */
export function formatChanges({ compared, changed, added, removed, resources }: MeshChanges): string {
  const proxies = (title: string, ids: readonly string[]): readonly string[] =>
    ids.length === 0 ? [] : [`${title}: ${ids.map(shortId).join(", ")}`];
  return [
    `${changed.length} of ${compared} proxies would change`,
    ...proxies("new proxies", added),
    ...proxies("proxies that are gone", removed),
    ...resources.flatMap(formatChange),
    "",
  ].join("\n");
}

function formatChange({ type, name, change, differences, proxies }: ResourceChange): readonly string[] {
  const some = proxies.slice(0, 5).map(shortId).join(", ");
  const others = proxies.length > 5 ? ` and ${proxies.length - 5} more` : "";
  return [
    `\n${type} ${name}: ${change} for ${some}${others}`,
    ...differences.map((difference) => `  ${formatDifference(difference)}`),
  ];
}

function formatDifference({ path, kind, expected, actual }: JsonDifference): string {
  switch (kind) {
    case "missing":
      return `- ${path}: ${short(expected)}`;
    case "extra":
      return `+ ${path}: ${short(actual)}`;
    case "order":
      return `~ ${path}: order ${short(expected)} -> ${short(actual)}`;
    default:
      return `~ ${path}: ${short(expected)} -> ${short(actual)}`;
  }
}

/** `name.namespace` of a node id. */
function shortId(nodeId: string): string {
  return nodeId.split("~")[2] ?? nodeId;
}

function objectName({ cluster, namespace, name }: ObjectRead): string {
  const own = namespace === "" ? name : `${namespace}/${name}`;
  return cluster === undefined || cluster === "Kubernetes" ? own : `${own} of ${cluster}`;
}

function short(value: Json | unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 160 ? `${text.slice(0, 160)}…` : text;
}

function table(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? "").length)));
  return rows.map((row) =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join("  ")
      .trimEnd(),
  );
}
