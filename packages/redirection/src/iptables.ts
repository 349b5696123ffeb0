import { RedirectionError } from "./errors.js";
import type { Run } from "./run.js";

/** The programs of one implementation of iptables, for one version of IP. */
export interface Tables {
  readonly command: string;
  readonly save: string;
  readonly restore: string;
}

/**
 * Finds the implementation to use: the older, if it has rules in this network namespace; else the newer, if it works;
 * else what is called iptables without more.
 *
 * @throws RedirectionError `command` where there is none
 */
export async function findTables(run: Run, version: 4 | 6, binary?: "legacy" | "nft"): Promise<Tables> {
  const named = (suffix: string): Tables => {
    const command = `${version === 4 ? "iptables" : "ip6tables"}${suffix}`;
    return { command, save: `${command}-save`, restore: `${command}-restore` };
  };
  const saved = async (tables: Tables): Promise<string | undefined> => {
    const { code, stdout } = await run(tables.save, []);
    return code === 0 ? stdout : undefined;
  };
  const candidates = binary === undefined ? [named("-legacy"), named("-nft"), named("")] : [named(`-${binary}`)];
  for (const tables of candidates) {
    const text = await saved(tables);
    if (text === undefined) continue;
    if (binary === undefined && tables.command.endsWith("-legacy") && !/^-[AI] /m.test(text)) continue;
    return tables;
  }
  throw new RedirectionError(
    "command",
    `no ${candidates.map((t) => t.command).join(", ")} that works here: is iptables installed, and may this user change rules?`,
  );
}
