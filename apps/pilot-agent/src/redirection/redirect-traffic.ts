import {
  applyCapture,
  applyNftCapture,
  type ApplyOptions,
  buildCaptureRules,
  buildNftCaptureRules,
  type CaptureConfig,
  type CommandRunner,
  formatNftTransaction,
  formatRestoreInput,
  localRunner,
  RedirectionError,
  removeCapture,
  removeNftCapture,
  verifyCapture,
} from "@istiod/redirection";
import type { Environment } from "@istiod/settings";
import { AgentError } from "../errors.js";
import type { Log } from "../log.js";
import { workloadAddresses } from "../node/addresses.js";
import type { CaptureOptions } from "../options/capture-table.js";
import { captureConfig } from "./capture-config.js";

/** Exit code of a failed validation, which Istio's init container expects. */
const VALIDATION_FAILED = 126;

/**
 * Runs `istio-iptables`: prints the rules to standard output, or applies, removes or validates them.
 *
 * @returns the exit code
 * @throws AgentError `option` or `redirection`
 */
export async function redirectTraffic(options: CaptureOptions, env: Environment, log: Log): Promise<number> {
  const addresses = workloadAddresses("").filter((address) => !["127.0.0.1", "::1"].includes(address));
  const config = await captureConfig(options, addresses);
  try {
    if (options.dryRun) {
      process.stdout.write(formatRules(options, config));
      return 0;
    }
    const { networkNamespace } = options;
    const run = localRunner(networkNamespace === "" ? [] : ["nsenter", `--net=${networkNamespace}`, "--"], env);
    await (options.nftables ? changeNftRules : changeRules)(options, config, run, log);
  } catch (error) {
    if (!(error instanceof RedirectionError)) throw error;
    throw AgentError.from(error, error.code === "setting" ? "option" : "redirection", "traffic cannot be redirected");
  }
  return options.validate ? validate(options, config, log) : 0;
}

function formatRules({ nftables }: CaptureOptions, config: CaptureConfig): string {
  if (nftables) return formatNftTransaction(buildNftCaptureRules(config));
  return ([4, 6] as const).map((version) => formatRestoreInput(buildCaptureRules(config, version))).join("");
}

async function changeRules(
  { binary, reconcile, force, cleanupOnly, skipApply }: CaptureOptions,
  config: CaptureConfig,
  run: CommandRunner,
  log: Log,
): Promise<void> {
  const applyOptions: ApplyOptions = { run, ...(binary !== "" && { binary }), reconcile, force };
  if (cleanupOnly) await removeCapture(config, applyOptions);
  else if (!skipApply) log.info(`rules: ${await applyCapture(config, applyOptions)}`);
}

async function changeNftRules(
  { binary, cleanupOnly, skipApply }: CaptureOptions,
  config: CaptureConfig,
  run: CommandRunner,
  log: Log,
): Promise<void> {
  if (binary !== "") log.warn("--force-iptables-binary has no effect with --native-nftables");
  if (cleanupOnly) await removeNftCapture({ run });
  else if (!skipApply) {
    await applyNftCapture(config, { run });
    log.info("rules: applied");
  }
}

async function validate({ probePort, probeTimeout }: CaptureOptions, config: CaptureConfig, log: Log): Promise<number> {
  try {
    await verifyCapture({
      proxyPorts: [Number(config.proxyPort), Number(config.inboundCapturePort)],
      probePort,
      timeout: probeTimeout,
      ipv6: config.ipv6,
    });
    return 0;
  } catch (error) {
    if (!(error instanceof RedirectionError)) throw error;
    log.error(error.message);
    return VALIDATION_FAILED;
  }
}
