import type { CaptureConfig } from "../capture-config.js";
import type { CommandRunner } from "../command-runner.js";
import { RedirectionError } from "../errors.js";
import { applyRoutes } from "../routes.js";
import { buildNftCaptureRules } from "./nft-capture-rules.js";
import { formatNftRemoval, formatNftTransaction, nftTables } from "./nft-rule.js";

/** Options of {@link applyNftCapture} and {@link removeNftCapture}. */
export interface NftOptions {
  /** Runs commands in the network namespace. */
  readonly run: CommandRunner;
}

/**
 * Applies the nftables rules, and for TPROXY the routes, that capture a pod's traffic. One transaction replaces the
 * rules of an earlier run, so no packet bypasses the proxy meanwhile, and a failure changes nothing. Idempotent.
 *
 * @throws RedirectionError `setting`, or `command` with the command's error output
 */
export async function applyNftCapture(config: CaptureConfig, { run }: NftOptions): Promise<void> {
  const rules = buildNftCaptureRules(config);
  const unused = nftTables.filter((table) => rules.every((rule) => rule.table !== table));
  await runNft(run, formatNftRemoval(unused) + formatNftTransaction(rules));
  await applyRoutes(config, run);
}

/** Removes the rules of any configuration. Routes stay. @throws RedirectionError `command` */
export async function removeNftCapture({ run }: NftOptions): Promise<void> {
  await runNft(run, formatNftRemoval(nftTables));
}

async function runNft(run: CommandRunner, transaction: string): Promise<void> {
  const { code, stderr } = await run("nft", ["-f", "-"], transaction);
  if (code === undefined)
    throw new RedirectionError("command", `nft cannot be run: ${stderr}; install nftables 1.0.1 or later`);
  if (code !== 0) throw new RedirectionError("command", `nft -f -: ${stderr.trim() || `exit code ${code}`}`);
}
