import { type Column, megabytes } from "../fleet/table.js";
import { growths, superlinear } from "./growth.js";
import type { Exchange, Step } from "./measure-step.js";

const bytes = (exchange: Exchange | undefined): string => {
  if (exchange === undefined) return "–";
  return exchange.bytes < 1e5 ? `${(exchange.bytes / 1e3).toFixed(1)} kB` : `${megabytes(exchange.bytes)} MB`;
};
const responses = (exchange: Exchange | undefined): string =>
  exchange === undefined ? "–" : String(exchange.responses);
const cpu = (exchange: Exchange | undefined): string =>
  exchange === undefined ? "–" : (exchange.cpuSeconds * 1000).toFixed(0);

/** Columns of a table of steps. Widths are those of a table that is printed row by row. */
export const stepColumns: readonly Column<Step>[] = [
  { head: "dimension", of: ({ dimension }) => dimension, left: true, width: 22 },
  { head: "size", of: ({ size }) => String(size), width: 6 },
  { head: "from", of: ({ source }) => source, left: true, width: 7 },
  { head: "start CPU s", of: ({ startCpuSeconds }) => startCpuSeconds.toFixed(2), width: 11 },
  { head: "RSS MB", of: ({ peakRss }) => (peakRss / 1e6).toFixed(0), width: 6 },
  { head: "turn ms", of: (step) => `${step.startTurnMs.toFixed(0)} / ${step.longestTurnMs.toFixed(0)}`, width: 11 },
  ...(["delta", "sotw"] as const).flatMap((variant): Column<Step>[] => [
    { head: `${variant} CPU ms`, of: (step) => cpu(step[variant]?.first), width: 12 },
    { head: "bytes", of: (step) => bytes(step[variant]?.first), width: 9 },
    { head: "responses", of: (step) => responses(step[variant]?.first), width: 9 },
    { head: "change CPU ms", of: (step) => cpu(step[variant]?.change), width: 13 },
    { head: "bytes", of: (step) => bytes(step[variant]?.change), width: 9 },
    { head: "responses", of: (step) => responses(step[variant]?.change), width: 9 },
  ]),
  { head: "Envoy", of: ({ envoy }) => envoy.outcome, left: true, width: 9 },
  { head: "verdict", of: verdict, left: true },
];

/** Returns whether a step is right, refused or wrong. */
export function verdict({ faults, refusal, envoy }: Step): string {
  if (refusal !== undefined) return `refused: ${refusal}`;
  if (faults.length > 0) return `wrong: ${faults.join("; ")}`;
  return envoy.outcome === "rejected" ? `rejected by Envoy: ${envoy.message ?? ""}` : "right";
}

/** Returns what is wrong with the steps of one dimension and source, one sentence each. */
export function failures(steps: readonly Step[]): string[] {
  return [
    ...steps
      .map((step) => ({ step, text: verdict(step) }))
      .filter(({ text }) => text !== "right" && !text.startsWith("refused: "))
      .map(({ step, text }) => `${step.dimension} ${step.size} from ${step.source}: ${text}`),
    ...superlinear(steps).map(
      ({ figure, from, to, exponent }) =>
        `${steps[0]?.dimension} from ${steps[0]?.source}: ${figure} grows with the power ${exponent.toFixed(2)} of the size from ${from} to ${to}`,
    ),
  ];
}

/** Returns the largest exponent of the last sizes, with its figure. */
export function steepest(steps: readonly Step[]): string {
  const last = Math.max(...steps.map(({ size }) => size));
  const found = growths(steps)
    .filter(({ to }) => to === last)
    .sort((a, b) => b.exponent - a.exponent)[0];
  return found === undefined ? "–" : `${found.exponent.toFixed(2)} (${found.figure})`;
}

/** Returns a table in Markdown. */
export function markdown<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [
    line(columns.map(({ head }) => head)),
    line(columns.map(({ left }) => (left === true ? "---" : "--:"))),
    ...rows.map((row) => line(columns.map(({ of }) => of(row)))),
  ].join("\n");
}
