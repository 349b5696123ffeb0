export type Table = "filter" | "mangle" | "nat" | "raw";

/** An iptables rule. */
export interface Rule {
  readonly table: Table;
  readonly chain: string;
  /** Matches and target, as arguments of iptables. */
  readonly args: readonly string[];
  /** Position in the chain, from 1. Default: at the end. */
  readonly position?: number;
}

/** Creates a rule at the end of a chain. @param args separated by spaces */
export function appendRule(table: Table, chain: string, args: string): Rule {
  return { table, chain, args: args.split(" ") };
}

/** Creates a rule at a position of a chain, from 1. @param args separated by spaces */
export function insertRule(position: number, table: Table, chain: string, args: string): Rule {
  return { ...appendRule(table, chain, args), position };
}

/** Returns the Istio chain that a rule jumps to; `undefined` if its target is another. */
export function istioJump({ args }: Rule): string | undefined {
  const target = args.at(-2) === "-j" ? args.at(-1) : undefined;
  return target?.startsWith("ISTIO_") ? target : undefined;
}

/** Returns the Istio chains of rules by table, in the order in which the rules use them. */
export function istioChains(rules: readonly Rule[]): Map<Table, Set<string>> {
  const chains = new Map<Table, Set<string>>();
  const add = (table: Table, chain: string | undefined): void => {
    if (!chains.has(table)) chains.set(table, new Set());
    if (chain?.startsWith("ISTIO_")) chains.get(table)?.add(chain);
  };
  for (const { table, chain } of rules) add(table, chain);
  for (const rule of rules) add(rule.table, istioJump(rule));
  return chains;
}

/** Formats rules and their chains as input of `iptables-restore --noflush`, with tables in alphabetical order. */
export function formatRestoreInput(rules: readonly Rule[]): string {
  const tables = [...istioChains(rules)].sort(([a], [b]) => (a < b ? -1 : 1));
  return tables
    .map(([table, chains]) =>
      [
        `* ${table}`,
        ...[...chains].map((chain) => `-N ${chain}`),
        ...rules.filter((rule) => rule.table === table).map(formatRule),
        "COMMIT",
        "",
      ].join("\n"),
    )
    .join("");
}

function formatRule({ chain, args, position }: Rule): string {
  return [...(position === undefined ? ["-A", chain] : ["-I", chain, String(position)]), ...args].join(" ");
}
