export type Table = "filter" | "mangle" | "nat" | "raw";

/** One rule of iptables. */
export interface Rule {
  readonly table: Table;
  readonly chain: string;
  /** Matches and target, as words of iptables' command line. */
  readonly words: readonly string[];
  /** Its place in the chain, from 1; undefined: at the end. */
  readonly at?: number;
}

/** Makes a rule at the end of a chain, from words parted by spaces. */
export function rule(table: Table, chain: string, words: string): Rule {
  return { table, chain, words: words.split(" ") };
}

/** Makes a rule at a place of a chain, from 1. */
export function ruleAt(at: number, table: Table, chain: string, words: string): Rule {
  return { ...rule(table, chain, words), at };
}

/** The chain of ours that a rule ends in, if it does. */
export function jumpOf({ words }: Rule): string | undefined {
  const target = words.at(-2) === "-j" ? words.at(-1) : undefined;
  return target?.startsWith("ISTIO_") ? target : undefined;
}

/** A rule as `iptables-restore` takes it. */
function lineOf({ chain, words, at }: Rule): string {
  return [...(at === undefined ? ["-A", chain] : ["-I", chain, String(at)]), ...words].join(" ");
}

/** Chains of ours by table, in the order in which the rules need them. */
export function chainsOf(rules: readonly Rule[]): Map<Table, Set<string>> {
  const chains = new Map<Table, Set<string>>();
  const need = (table: Table, chain: string | undefined): void => {
    if (!chains.has(table)) chains.set(table, new Set());
    if (chain?.startsWith("ISTIO_")) chains.get(table)?.add(chain);
  };
  for (const r of rules) need(r.table, r.chain);
  for (const r of rules) need(r.table, jumpOf(r));
  return chains;
}

/** Rules and their chains as the input of `iptables-restore --noflush`; tables by name. */
export function restoreInput(rules: readonly Rule[]): string {
  const tables = [...chainsOf(rules)].sort(([a], [b]) => (a < b ? -1 : 1));
  return tables
    .map(([table, chains]) =>
      [
        `* ${table}`,
        ...[...chains].map((chain) => `-N ${chain}`),
        ...rules.filter((r) => r.table === table).map(lineOf),
        "COMMIT",
        "",
      ].join("\n"),
    )
    .join("");
}
