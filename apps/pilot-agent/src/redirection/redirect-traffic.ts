import {
  applyCapture,
  type ApplyOptions,
  buildCaptureRules,
  type CaptureConfig,
  formatRestoreInput,
  localRunner,
  RedirectionError,
  removeCapture,
  verifyCapture,
} from "@istiod/redirection";
import { type Environment, SettingError } from "@istiod/settings";
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
  if (options.nftables) throw new SettingError("--native-nftables is not supported: rules are applied by iptables");
  const addresses = workloadAddresses("").filter((address) => !["127.0.0.1", "::1"].includes(address));
  const config = await captureConfig(options, addresses);
  try {
    if (options.dryRun) {
      for (const version of [4, 6] as const)
        process.stdout.write(formatRestoreInput(buildCaptureRules(config, version)));
      return 0;
    }
    await changeRules(options, config, env, log);
  } catch (error) {
    if (!(error instanceof RedirectionError)) throw error;
    throw AgentError.from(error, error.code === "setting" ? "option" : "redirection", "traffic cannot be redirected");
  }
  return options.validate ? validate(options, config, log) : 0;
}

async function changeRules(options: CaptureOptions, config: CaptureConfig, env: Environment, log: Log): Promise<void> {
  const { networkNamespace, binary, reconcile, force, cleanupOnly, skipApply } = options;
  const run = localRunner(networkNamespace === "" ? [] : ["nsenter", `--net=${networkNamespace}`, "--"], env);
  const applyOptions: ApplyOptions = { run, ...(binary !== "" && { binary }), reconcile, force };
  if (cleanupOnly) await removeCapture(config, applyOptions);
  else if (!skipApply) log.info(`rules: ${await applyCapture(config, applyOptions)}`);
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
