import type { Capture } from "./capture.js";
import { captureRules } from "./capture-rules.js";
import { RedirectionError } from "./errors.js";
import { findTables, type Tables } from "./iptables.js";
import { applyRoutes } from "./routes.js";
import { chainsOf, jumpOf, type Rule, restoreInput } from "./rule.js";
import type { Run } from "./run.js";
import { differs, readState } from "./state.js";

export interface ApplyOptions {
  /** How programs are run: where, and as whom, is the caller's business. */
  readonly run: Run;
  /**
   * Which of the kernel's two implementations of iptables is used. Default: the one that has rules already, else the
   * newer.
   */
  readonly binary?: "legacy" | "nft";
  /** Replace rules that are there already and differ, instead of failing where they clash. Default: false. */
  readonly reconcile?: boolean;
  /** Make the rules even if they seem to be there. Default: false. */
  readonly force?: boolean;
}

/** What was done: nothing, where the rules were there already. */
export type Applied = "applied" | "unchanged";

/**
 * Captures a pod's traffic: makes the rules, and for TPROXY the routes, in the network namespace in which programs are
 * run. Doing it twice is doing it once.
 *
 * @throws RedirectionError `setting`, or `command` with what the program said
 */
export async function applyCapture(capture: Capture, options: ApplyOptions): Promise<Applied> {
  const { run, reconcile = false, force = false } = options;
  const families = await familiesOf(capture, options);
  const states = await Promise.all(
    families.map(async ({ tables, rules }) => ({ tables, rules, state: await readState(run, tables) })),
  );
  let changed = false;
  for (const each of states) changed = (await differs(run, each.tables, each.rules, each.state)) || changed;
  if (changed && reconcile && states.some(({ state }) => state.present))
    await behindGuardrails(
      run,
      families.map((f) => f.tables),
      () => remove(run, families),
    );
  if (changed || force) {
    for (const { tables, rules } of families) await must(run, tables.restore, ["--noflush"], restoreInput(rules));
  }
  await applyRoutes(capture, run);
  return changed || force ? "applied" : "unchanged";
}

/** Removes what `applyCapture` made for these settings, as far as it is there; routes stay. @throws RedirectionError */
export async function removeCapture(capture: Capture, options: ApplyOptions): Promise<void> {
  await remove(options.run, await familiesOf(capture, options));
}

interface FamilyRules {
  readonly tables: Tables;
  readonly rules: readonly Rule[];
}

async function familiesOf(capture: Capture, { run, binary }: ApplyOptions): Promise<FamilyRules[]> {
  const versions = capture.ipv6 ? ([4, 6] as const) : ([4] as const);
  return Promise.all(
    versions.map(async (version) => ({
      rules: captureRules(capture, version),
      tables: await findTables(run, version, binary),
    })),
  );
}

/** Rules in the kernel's own chains one by one, so that nothing of others' goes; then our chains whole. */
async function remove(run: Run, families: readonly FamilyRules[]): Promise<void> {
  for (const { tables, rules } of families) {
    const lead = [...rules].reverse().filter((rule) => !rule.chain.startsWith("ISTIO_") || jumpOf(rule) !== undefined);
    for (const { table, chain, words } of lead) await run(tables.command, ["-t", table, "-D", chain, ...words]);
    const chains = [...chainsOf(rules)].flatMap(([table, names]) => [...names].map((name) => [table, name] as const));
    for (const [table, name] of chains) await run(tables.command, ["-t", table, "-F", name]);
    for (const [table, name] of chains) await run(tables.command, ["-t", table, "-X", name]);
  }
}

const guardrails = ["INPUT", "FORWARD", "OUTPUT"].flatMap((chain) =>
  ["tcp", "udp"].map((protocol) => ({ chain, words: ["-p", protocol, "-j", "DROP"] })),
);

/** Lets no traffic through while rules are half there: it would go past the proxy. */
async function behindGuardrails(run: Run, families: readonly Tables[], work: () => Promise<void>): Promise<void> {
  const lift = async (): Promise<void> => {
    for (const { command } of families)
      for (const { chain, words } of guardrails) await run(command, ["-t", "filter", "-D", chain, ...words]);
  };
  try {
    for (const { command } of families)
      for (const { chain, words } of guardrails) await must(run, command, ["-t", "filter", "-I", chain, "1", ...words]);
    await work();
  } finally {
    await lift();
  }
}

async function must(run: Run, command: string, args: readonly string[], input?: string): Promise<void> {
  const { code, stderr } = await run(command, args, input);
  if (code !== 0)
    throw new RedirectionError("command", `${[command, ...args].join(" ")}: ${stderr.trim() || `exit code ${code}`}`);
}
