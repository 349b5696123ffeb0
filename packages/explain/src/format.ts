import type { ResourceExplanation } from "./explain.js";
import type { JsonDifference } from "./json-difference.js";
import type { MeshDiff, ResourceDiff } from "./mesh-diff.js";
import { formatProxyState } from "./proxy-state.js";
import type { ObjectRead } from "./provenance/objects-read.js";

/** Formats explanations as text. */
export function formatExplanations(explanations: readonly ResourceExplanation[]): string {
  return explanations.map(formatExplanation).join("\n");
}

function formatExplanation(explanation: ResourceExplanation): string {
  const { type, name, version, proxyState, objects, lists, facts, ignored } = explanation;
  const isVariable = ({ kind }: ObjectRead): boolean => kind === "Environment";
  const found = objects.filter((object) => object.read !== "absent" && !isVariable(object));
  const missing = objects.filter((object) => object.read === "absent" && !isVariable(object));
  const variables = objects.filter((object) => object.read !== "absent" && isVariable(object));
  const rows = found
    .filter(({ effect }) => effect?.changesResource !== false)
    .map((object) => [
      object.kind,
      objectName(object),
      (object.effect?.fields ?? []).join(", ") + (object.effect?.incomplete ? ", …" : ""),
    ]);
  const withoutEffect = found.filter(({ effect }) => effect?.changesResource === false);
  return [
    `${type} ${name}  (version ${version})`,
    ...(proxyState ? [`  proxy: ${formatProxyState(proxyState)}`] : []),
    ...section("built from", table(rows)),
    ...list(
      "environment",
      variables.map((variable) => variable.name),
    ),
    ...list(
      "read, without effect",
      withoutEffect.map((object) => `${object.kind} ${objectName(object)}`),
    ),
    ...list(
      "read, not found",
      missing.map((object) => `${object.kind} ${objectName(object)}`),
    ),
    ...list("kinds listed", lists),
    ...list(
      "proxy facts",
      facts
        .filter(({ answer }) => answer !== undefined)
        .map(({ fact, arg, answer }) => `${fact}${arg === undefined ? "" : `(${json(arg)})`}=${json(answer)}`),
    ),
    ...section(
      "ignored or overridden",
      ignored.map((object) => `${object.kind} ${object.namespace}/${object.name} ${object.reason}`),
    ),
    "",
  ].join("\n");
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [`  ${title}`, ...lines.map((line) => `    ${line}`)];
}

function list(title: string, items: readonly string[]): readonly string[] {
  return items.length === 0 ? [] : [`  ${title}: ${items.join(", ")}`];
}

/** Formats a mesh diff as text. */
export function formatMeshDiff({ compared, changed, added, removed, resources }: MeshDiff): string {
  const proxies = (title: string, ids: readonly string[]): readonly string[] =>
    ids.length === 0 ? [] : [`${title}: ${ids.map(shortId).join(", ")}`];
  return [
    `${changed.length} of ${compared} proxies would change`,
    ...proxies("new proxies", added),
    ...proxies("removed proxies", removed),
    ...resources.flatMap(formatResourceDiff),
    "",
  ].join("\n");
}

const maxListedProxies = 5;

function formatResourceDiff({ type, name, change, differences, proxies }: ResourceDiff): readonly string[] {
  const listed = proxies.slice(0, maxListedProxies).map(shortId).join(", ");
  const others = proxies.length > maxListedProxies ? ` and ${proxies.length - maxListedProxies} more` : "";
  return [
    `\n${type} ${name}: ${change} for ${listed}${others}`,
    ...differences.map((difference) => `  ${formatDifference(difference)}`),
  ];
}

function formatDifference({ path, kind, expected, actual }: JsonDifference): string {
  switch (kind) {
    case "missing":
      return `- ${path}: ${json(expected)}`;
    case "extra":
      return `+ ${path}: ${json(actual)}`;
    case "order":
      return `~ ${path}: order ${json(expected)} -> ${json(actual)}`;
    default:
      return `~ ${path}: ${json(expected)} -> ${json(actual)}`;
  }
}

/** Returns the `name.namespace` part of a node ID. */
function shortId(nodeId: string): string {
  return nodeId.split("~")[2] ?? nodeId;
}

function objectName({ cluster, namespace, name }: ObjectRead): string {
  const own = namespace === "" ? name : `${namespace}/${name}`;
  return cluster === undefined || cluster === "Kubernetes" ? own : `${own} of ${cluster}`;
}

const maxJsonLength = 160;

function json(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > maxJsonLength ? `${text.slice(0, maxJsonLength)}…` : text;
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
