import type { CommandRunner } from "../command-runner.js";
import { RedirectionError } from "../errors.js";

/** Commands of one iptables implementation, for one IP family. */
export interface IptablesCommands {
  readonly command: string;
  readonly save: string;
  readonly restore: string;
}

/**
 * Detects the iptables implementation: legacy if it has rules in this network namespace, else nft if it works, else the
 * system's default.
 *
 * @param binary uses this implementation instead
 * @throws RedirectionError `command` if no implementation works
 */
export async function findIptables(
  run: CommandRunner,
  version: 4 | 6,
  binary?: "legacy" | "nft",
): Promise<IptablesCommands> {
  const suffixes = binary === undefined ? ["-legacy", "-nft", ""] : [`-${binary}`];
  const candidates = suffixes.map((suffix) => commandsOf(version, suffix));
  for (const commands of candidates) {
    const { code, stdout } = await run(commands.save, []);
    if (code !== 0) continue;
    const isUnusedLegacy = commands.command.endsWith("-legacy") && !/^-[AI] /m.test(stdout);
    if (binary === undefined && isUnusedLegacy) continue;
    return commands;
  }
  throw new RedirectionError(
    "command",
    `no working ${candidates.map(({ command }) => command).join(", ")}; install iptables, and run as a user with NET_ADMIN`,
  );
}

function commandsOf(version: 4 | 6, suffix: string): IptablesCommands {
  const command = `${version === 4 ? "iptables" : "ip6tables"}${suffix}`;
  return { command, save: `${command}-save`, restore: `${command}-restore` };
}
