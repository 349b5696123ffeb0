import { chainsOf, type Rule, type Table } from "./rule.js";
import type { Run } from "./run.js";
import type { Tables } from "./iptables.js";

/** What of ours is in the kernel. */
export interface State {
  /** Whether there is anything of ours. */
  readonly present: boolean;
  /** How many rules each chain of ours has, by table and chain. */
  readonly chains: ReadonlyMap<string, number>;
}

/** Reads what of ours is in the kernel. Where nothing can be read, nothing is taken to be there. */
export async function readState(run: Run, tables: Tables): Promise<State> {
  const { code, stdout } = await run(tables.save, []);
  const chains = new Map<string, number>();
  let present = false;
  let table = "";
  for (const line of code === 0 ? stdout.split("\n") : []) {
    if (line.startsWith("*")) table = line.slice(1).trim();
    const chain = /^(?::|-A )(ISTIO_\w+)/.exec(line)?.[1];
    if (chain !== undefined)
      chains.set(`${table} ${chain}`, (chains.get(`${table} ${chain}`) ?? 0) + (line.startsWith("-A") ? 1 : 0));
    present ||= chain !== undefined || / -j ISTIO_/.test(line);
  }
  return { present, chains };
}

/**
 * Whether what is in the kernel differs from the rules: other chains of ours, other numbers of rules in them, or a rule
 * missing. The order is not looked at.
 */
export async function differs(run: Run, tables: Tables, rules: readonly Rule[], state: State): Promise<boolean> {
  if (!state.present) return rules.length > 0;
  const expected = new Map(
    [...chainsOf(rules)].flatMap(([table, names]) =>
      [...names].map((name) => [`${table} ${name}`, count(rules, table, name)] as const),
    ),
  );
  if (expected.size !== state.chains.size) return true;
  for (const [name, rulesIn] of expected) if (state.chains.get(name) !== rulesIn) return true;
  for (const { table, chain, words } of rules)
    if ((await run(tables.command, ["-t", table, "-C", chain, ...words])).code !== 0) return true;
  return false;
}

function count(rules: readonly Rule[], table: Table, chain: string): number {
  return rules.filter((r) => r.table === table && r.chain === chain).length;
}
