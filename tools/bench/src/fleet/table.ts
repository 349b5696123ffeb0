import { categories } from "../profile/categories.js";
import { shortNames } from "./comparison.js";
import type { RunReport, StepReport } from "./step-report.js";

/** A column of a table: its head, and what it shows of a row. */
export interface Column<Row> {
  readonly head: string;
  readonly of: (row: Row) => string;
  readonly left?: boolean;
  /** Least width, for tables that are printed row by row. */
  readonly width?: number;
}

export const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(bytes < 1e7 ? 2 : 0);
const mebibytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(0);
const ms = (value: number | undefined): string => (value === undefined ? "–" : value.toFixed(0));

export const stepColumns: readonly Column<StepReport>[] = [
  { head: "step", of: ({ name }) => name, left: true, width: 13 },
  { head: "touched", of: ({ touched }) => String(touched), width: 7 },
  { head: "messages", of: ({ total }) => String(total.messages), width: 8 },
  { head: "resources", of: ({ total }) => String(total.resources), width: 9 },
  { head: "removed", of: ({ total }) => String(total.removed), width: 7 },
  { head: "MB", of: ({ total }) => megabytes(total.bytes), width: 6 },
  { head: "messages by type", of: byType, left: true, width: 27 },
  { head: "CPU s", of: ({ serverCpuSeconds }) => serverCpuSeconds.toFixed(2), width: 6 },
  { head: "first ms", of: ({ firstResponseMs }) => ms(firstResponseMs), width: 8 },
  { head: "last ACK p50", of: ({ lastAckMs }) => ms(lastAckMs?.p50), width: 12 },
  { head: "p90", of: ({ lastAckMs }) => ms(lastAckMs?.p90), width: 6 },
  { head: "max", of: ({ lastAckMs }) => ms(lastAckMs?.max), width: 6 },
  { head: "istiod's", of: ({ istiod }) => ms(istiod?.lastAckMs), width: 8 },
  {
    head: "RSS MiB",
    of: ({ rss }) =>
      `${mebibytes(rss.before)} / ${mebibytes(rss.peak)}${rss.peakIsExact ? "" : "?"} / ${mebibytes(rss.after)}`,
    width: 18,
  },
  { head: "own CPU s", of: ({ ownCpuSeconds }) => ownCpuSeconds.toFixed(2), width: 9 },
  { head: "load", of: ({ load }) => load.toFixed(1), width: 5 },
];

/**
 * Columns for what istiod spent its CPU on: the part of each category, and how much of it on the thread of JavaScript.
 */
export const profileColumns: readonly Column<StepReport>[] = [
  { head: "step", of: ({ name }) => name, left: true },
  { head: "CPU s", of: ({ serverCpuSeconds }) => serverCpuSeconds.toFixed(2) },
  { head: "MB a CPU s", of: ({ serverCpuSeconds, total }) => (total.bytes / 1e6 / serverCpuSeconds).toFixed(0) },
  {
    head: "streams a CPU s",
    of: ({ name, serverCpuSeconds, touched }) =>
      ["connect", "reconnect", "restart"].includes(name) ? (touched / serverCpuSeconds).toFixed(0) : "–",
  },
  ...categories.map((category): Column<StepReport> => ({
    head: category,
    of: ({ profile }) =>
      profile === undefined ? "–" : percent(profile.shares[category], profile.mainThread[category]),
  })),
];

const percent = (all: number, main: number): string =>
  `${(all * 100).toFixed(0)}${all - main >= 0.005 ? ` (${(main * 100).toFixed(0)})` : ""} %`;

function byType({ types }: StepReport): string {
  const known = Object.entries(shortNames).flatMap(([type, short]) =>
    types[type] === undefined ? [] : [`${short.charAt(0)} ${types[type].messages}`],
  );
  return known.join(" ") || "–";
}

/** The rows of a table with their head, each as one line. */
export function lines<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string[] {
  const cells = rows.map((row) => columns.map(({ of }) => of(row)));
  const widths = columns.map(({ head, width = 0 }, at) =>
    Math.max(head.length, width, ...cells.map((row) => row[at]?.length ?? 0)),
  );
  const line = (row: readonly string[]): string =>
    row
      .map((cell, at) => (columns[at]?.left ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join("  ")
      .trimEnd();
  return [line(columns.map(({ head }) => head)), ...cells.map(line)];
}

/** Returns a one-line description of a run. */
export function title({ mesh, variant, proxies, tls, ready }: Omit<RunReport, "steps">): string {
  const { services, namespaces, endpoints = 3, scoped = 0, seed } = mesh;
  const scope =
    scoped === 0
      ? "nothing scoped"
      : scoped === 1
        ? "one Sidecar a namespace"
        : `Sidecars in ${(scoped * 100).toFixed(0)} % of the namespaces`;
  const start = ready.ms === undefined ? "" : `, ready after ${(ready.ms / 1000).toFixed(1)} s`;
  return `${services} services of ${endpoints} pods in ${namespaces} namespaces, ${proxies} proxies, ${variant}${tls ? " over TLS" : ""}, ${scope}, seed ${seed}: istiod${start} with ${ready.cpuSeconds.toFixed(1)} CPU s and ${mebibytes(ready.rss)} MiB`;
}
