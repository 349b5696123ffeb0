import type { Parity } from "./parity.js";

/** Figures of several situations together. */
export interface Row {
  readonly name: string;
  /** Resources equal, of all on either side. */
  readonly equal: number;
  readonly all: number;
  /** The same of what the situations change relative to their base. */
  readonly changedEqual: number;
  readonly changed: number;
  /** Situations without a difference, of all. */
  readonly full: number;
  readonly n: number;
}

export function sum(name: string, list: readonly Parity[]): Row {
  const total = (of: (p: Parity) => number): number => list.reduce((so, p) => so + of(p), 0);
  return {
    name,
    equal: total((p) => p.equal),
    all: total((p) => p.all),
    changedEqual: total((p) => p.changedEqual),
    changed: total((p) => p.changed),
    full: total((p) => (p.equal === p.all && p.error === undefined ? 1 : 0)),
    n: list.length,
  };
}

/** Rows, one a line, in columns. */
export function table(rows: readonly Row[]): string {
  const width = Math.max(...rows.map(({ name }) => name.length)) + 2;
  const line = ({ name, equal, all, changedEqual, changed, full, n }: Row): string =>
    `${name.padEnd(width)}resources ${percent(equal, all)}  of change ${percent(changedEqual, changed)}  in full ${full}/${n}`;
  return rows.map(line).join("\n");
}

/** A share in percent, 100 where there is nothing. */
export function share(a: number, b: number): number {
  return b === 0 ? 100 : (100 * a) / b;
}

export function percent(a: number, b: number): string {
  return `${share(a, b).toFixed(2).padStart(6)}%`;
}
