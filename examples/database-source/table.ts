import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";

export interface Row {
  readonly team: string;
  readonly cluster: string;
}

/** The least of a database: rows that survive a restart, a query, and a notification of changes. */
export class Table {
  readonly #file: string;
  readonly #listeners = new Set<(team: string) => void>();
  #rows: readonly Row[];

  constructor(file: string) {
    this.#file = file;
    this.#rows = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Row[]) : [];
  }

  rows(team: string): readonly Row[] {
    return this.#rows.filter((row) => row.team === team);
  }

  insert(row: Row): void {
    this.#rows = [...this.#rows, row];
    writeFileSync(`${this.#file}.new`, JSON.stringify(this.#rows));
    renameSync(`${this.#file}.new`, this.#file);
    for (const listener of this.#listeners) listener(row.team);
  }

  onChange(listener: (team: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
