import type { CaptureConfig } from "../capture-config.js";
import { buildCaptureRules } from "./capture-rules.js";
import { type CommandRunner, runChecked } from "../command-runner.js";
import { findIptables, type IptablesCommands } from "./iptables-commands.js";
import { hasDelta, readState } from "./iptables-state.js";
import { applyRoutes } from "../routes.js";
import { formatRestoreInput, istioChains, istioJump, type Rule } from "./rule.js";

/** Options of {@link applyCapture} and {@link removeCapture}. */
export interface ApplyOptions {
  /** Runs commands in the network namespace. */
  readonly run: CommandRunner;
  /** The iptables implementation. Default: legacy if it has rules, else nft. */
  readonly binary?: "legacy" | "nft";
  /** Replaces existing rules that differ. Otherwise, rules that conflict with existing ones fail. Default: false. */
  readonly reconcile?: boolean;
  /** Applies the rules even if they exist. Default: false. */
  readonly force?: boolean;
}

/** Result of {@link applyCapture}: `unchanged` if the rules existed. */
export type ApplyResult = "applied" | "unchanged";

/**
 * Applies the iptables rules, and for TPROXY the routes, that capture a pod's traffic. Idempotent.
 *
 * @throws RedirectionError `setting`, or `command` with the command's error output
 */
export async function applyCapture(config: CaptureConfig, options: ApplyOptions): Promise<ApplyResult> {
  const { run, reconcile = false, force = false } = options;
  const families = await familyRules(config, options);
  const states = await Promise.all(
    families.map(async (family) => ({ ...family, state: await readState(run, family.commands) })),
  );
  let isChanged = false;
  for (const { commands, rules, state } of states)
    isChanged = (await hasDelta(run, commands, rules, state)) || isChanged;
  if (isChanged && reconcile && states.some(({ state }) => state.exists))
    await withGuardrails(
      run,
      families.map(({ commands }) => commands),
      () => removeRules(run, families),
    );
  if (isChanged || force) {
    for (const { commands, rules } of families)
      await runChecked(run, commands.restore, ["--noflush"], formatRestoreInput(rules));
  }
  await applyRoutes(config, run);
  return isChanged || force ? "applied" : "unchanged";
}

/** Removes the existing rules of a configuration. Routes stay. @throws RedirectionError */
export async function removeCapture(config: CaptureConfig, options: ApplyOptions): Promise<void> {
  await removeRules(options.run, await familyRules(config, options));
}

interface FamilyRules {
  readonly commands: IptablesCommands;
  readonly rules: readonly Rule[];
}

async function familyRules(config: CaptureConfig, { run, binary }: ApplyOptions): Promise<FamilyRules[]> {
  const versions = config.ipv6 ? ([4, 6] as const) : ([4] as const);
  return Promise.all(
    versions.map(async (version) => ({
      rules: buildCaptureRules(config, version),
      commands: await findIptables(run, version, binary),
    })),
  );
}

/** Removes rules in built-in chains one by one, as these have rules of others, then all Istio chains. */
async function removeRules(run: CommandRunner, families: readonly FamilyRules[]): Promise<void> {
  for (const { commands, rules } of families) {
    const jumps = [...rules]
      .reverse()
      .filter((rule) => !rule.chain.startsWith("ISTIO_") || istioJump(rule) !== undefined);
    for (const { table, chain, args } of jumps) await run(commands.command, ["-t", table, "-D", chain, ...args]);
    const chains = [...istioChains(rules)].flatMap(([table, names]) =>
      [...names].map((name) => [table, name] as const),
    );
    for (const [table, name] of chains) await run(commands.command, ["-t", table, "-F", name]);
    for (const [table, name] of chains) await run(commands.command, ["-t", table, "-X", name]);
  }
}

const GUARDRAILS = ["INPUT", "FORWARD", "OUTPUT"].flatMap((chain) =>
  ["tcp", "udp"].map((protocol) => ({ chain, args: ["-p", protocol, "-j", "DROP"] })),
);

/** Drops all traffic while rules are replaced, as it would bypass the proxy. */
async function withGuardrails(
  run: CommandRunner,
  families: readonly IptablesCommands[],
  replaceRules: () => Promise<void>,
): Promise<void> {
  try {
    for (const { command } of families)
      for (const { chain, args } of GUARDRAILS)
        await runChecked(run, command, ["-t", "filter", "-I", chain, "1", ...args]);
    await replaceRules();
  } finally {
    for (const { command } of families)
      for (const { chain, args } of GUARDRAILS) await run(command, ["-t", "filter", "-D", chain, ...args]);
  }
}
