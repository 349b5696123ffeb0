import type { CommandRunner } from "../command-runner.js";
import type { IptablesCommands } from "./iptables-commands.js";
import { istioChains, type Rule, type Table } from "./rule.js";

/** Istio's rules and chains in the kernel. */
export interface IptablesState {
  /** Reports whether there are any. */
  readonly exists: boolean;
  /** Number of rules of each Istio chain, by table and chain. */
  readonly ruleCounts: ReadonlyMap<string, number>;
}

/** Reads the state. A failed read counts as no rules. */
export async function readState(run: CommandRunner, commands: IptablesCommands): Promise<IptablesState> {
  const { code, stdout } = await run(commands.save, []);
  const ruleCounts = new Map<string, number>();
  let exists = false;
  let table = "";
  for (const line of code === 0 ? stdout.split("\n") : []) {
    if (line.startsWith("*")) table = line.slice(1).trim();
    const chain = /^(?::|-A )(ISTIO_\w+)/.exec(line)?.[1];
    if (chain !== undefined) {
      const key = `${table} ${chain}`;
      ruleCounts.set(key, (ruleCounts.get(key) ?? 0) + (line.startsWith("-A") ? 1 : 0));
    }
    exists ||= chain !== undefined || / -j ISTIO_/.test(line);
  }
  return { exists, ruleCounts };
}

/**
 * Reports whether the state differs from the rules: in its Istio chains, in their numbers of rules, or by a missing
 * rule. The order of rules is not compared.
 */
export async function hasDelta(
  run: CommandRunner,
  commands: IptablesCommands,
  rules: readonly Rule[],
  state: IptablesState,
): Promise<boolean> {
  if (!state.exists) return rules.length > 0;
  const expected = new Map(
    [...istioChains(rules)].flatMap(([table, chains]) =>
      [...chains].map((chain) => [`${table} ${chain}`, countRules(rules, table, chain)] as const),
    ),
  );
  if (expected.size !== state.ruleCounts.size) return true;
  for (const [chain, count] of expected) if (state.ruleCounts.get(chain) !== count) return true;
  for (const { table, chain, args } of rules)
    if ((await run(commands.command, ["-t", table, "-C", chain, ...args])).code !== 0) return true;
  return false;
}

function countRules(rules: readonly Rule[], table: Table, chain: string): number {
  return rules.filter((rule) => rule.table === table && rule.chain === chain).length;
}
