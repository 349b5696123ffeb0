/** A table of Istio's, in the family `inet`, which is that of IPv4 and IPv6. */
export type NftTable = "nat" | "mangle" | "raw";

/** Tables in the order of a transaction. */
export const nftTables: readonly NftTable[] = ["nat", "mangle", "raw"];

/** An nftables rule. */
export interface NftRule {
  readonly table: NftTable;
  readonly chain: string;
  /** Matches and statements, in the language of nft(8). */
  readonly text: string;
  /** Position in the chain, from 0. Default: at the end. */
  readonly index?: number;
}

/** Creates a rule at the end of a chain. */
export function appendNftRule(table: NftTable, chain: string, text: string): NftRule {
  return { table, chain, text };
}

/** Creates a rule at a position of a chain, from 0. */
export function insertNftRule(index: number, table: NftTable, chain: string, text: string): NftRule {
  return { table, chain, text, index };
}

/** Hooks of the base chains, by table. The priorities are those that nft(8) names raw, mangle and dstnat. */
const BASE_CHAINS: Readonly<Record<NftTable, Readonly<Record<string, string>>>> = {
  nat: {
    prerouting: "type nat hook prerouting priority -100",
    output: "type nat hook output priority -100",
  },
  mangle: {
    prerouting: "type filter hook prerouting priority -150",
    output: "type route hook output priority -150",
  },
  raw: {
    prerouting: "type filter hook prerouting priority -300",
    output: "type filter hook output priority -300",
  },
};

/** Istio's order of the chains of a table. */
const CHAINS: Readonly<Record<NftTable, readonly string[]>> = {
  nat: ["istio-inbound", "istio-redirect", "istio-in-redirect", "istio-output", "istio-output-dns"],
  mangle: ["istio-divert", "istio-tproxy", "istio-inbound", "istio-drop"],
  raw: ["istio-inbound", "istio-output-dns"],
};

/**
 * Formats rules as one transaction, as input of `nft -f -`. It replaces the content of each table that has rules, and
 * leaves the others alone. Tables, chains and rules, and their order, are those of Istio's native nftables.
 */
export function formatNftTransaction(rules: readonly NftRule[]): string {
  return nftTables
    .flatMap((table) =>
      formatTable(
        table,
        rules.filter((rule) => rule.table === table),
      ),
    )
    .map((line) => `${line}\n`)
    .join("");
}

/** Formats the removal of tables. A table that does not exist is no error. */
export function formatNftRemoval(tables: readonly NftTable[]): string {
  // A table can be deleted only if it exists; adding one that exists changes nothing.
  return tables.flatMap((table) => [`add table ${tableName(table)}\n`, `delete table ${tableName(table)}\n`]).join("");
}

function tableName(table: NftTable): string {
  return `inet istio-proxy-${table}`;
}

function formatTable(table: NftTable, rules: readonly NftRule[]): string[] {
  if (rules.length === 0) return [];
  const name = tableName(table);
  const used = new Set(rules.map(({ chain }) => chain));
  const base = Object.entries(BASE_CHAINS[table]).filter(([chain]) => used.has(chain));
  return [
    `add table ${name}`,
    `flush table ${name}`,
    ...base.map(([chain, hook]) => `add chain ${name} ${chain} { ${hook} ; }`),
    ...CHAINS[table].filter((chain) => used.has(chain)).map((chain) => `add chain ${name} ${chain}`),
    ...formatRules(name, rules),
  ];
}

function formatRules(table: string, rules: readonly NftRule[]): string[] {
  const counts = new Map<string, number>();
  return rules.map(({ chain, text, index }) => {
    const count = counts.get(chain) ?? 0;
    counts.set(chain, count + 1);
    // nft inserts before an existing rule only.
    return index === undefined || index >= count
      ? `add rule ${table} ${chain} ${text}`
      : `insert rule ${table} ${chain} index ${index} ${text}`;
  });
}
