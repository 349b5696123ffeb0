import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** Milliseconds that `work` takes: by the clock, or of the processor where that is less because others use it too. */
export function milliseconds(work: () => void): number {
  const before = process.cpuUsage();
  const start = process.hrtime.bigint();
  work();
  const elapsed = Number(process.hrtime.bigint() - start) / 1e6;
  const { user, system } = process.cpuUsage(before);
  return Math.min(elapsed, elapsed > 20 ? (user + system) / 1e3 : Infinity);
}

/**
 * The least of `times` measurements of `work`, in milliseconds: what else the machine does only adds. `prepare` is not
 * counted.
 */
export function least(times: number, work: () => void, prepare: (round: number) => void = () => undefined): number {
  let best = Infinity;
  for (let round = 0; round < times; round++) {
    prepare(round);
    best = Math.min(best, milliseconds(work));
  }
  return best;
}

/** Bytes on the heap after garbage is collected. */
export function heapBytes(): number {
  collectGarbage();
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

export interface Figure {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
}

/** Prints a table for people, then one line of JSON for programs. */
export function print(title: string, figures: readonly Figure[]): void {
  const width = Math.max(...figures.map(({ what }) => what.length));
  console.log(`${title}\n`);
  for (const { what, value, unit } of figures)
    console.log(`${what.padEnd(width)}  ${round(value).padStart(12)} ${unit}`);
  console.log(
    `\n${JSON.stringify({ title, figures: figures.map((figure) => ({ ...figure, value: Number(round(figure.value)) })) })}`,
  );
}

function round(value: number): string {
  return Number.isInteger(value) || Math.abs(value) >= 1000 ? String(Math.round(value)) : value.toPrecision(3);
}
