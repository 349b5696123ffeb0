import { readFile } from "node:fs/promises";
import { isIPv6 } from "node:net";
import {
  applyCapture,
  type ApplyOptions,
  type Capture,
  captureRules,
  localRun,
  RedirectionError,
  removeCapture,
  restoreInput,
  verifyCapture,
} from "@istiod/redirection";
import { type Environment, SettingError } from "@istiod/settings";
import { SettingsCommand } from "@istiod/settings/command";
import { readResolvConf } from "../dns/resolv-conf.js";
import { AgentError } from "../errors.js";
import { workloadAddresses } from "../node/addresses.js";
import { type CaptureOptions, captureTable, ignoredCaptureFlags } from "../options/capture-table.js";

/** Exit code of a failed validation, which Istio's init container expects. */
const validationFailed = 126;

/** Builds the command `istio-iptables`, with Istio's flags. */
export function iptablesCommand(env: Environment, exit: (code: number) => void): SettingsCommand {
  const command = new SettingsCommand("istio-iptables")
    .description("Redirect the traffic of this network namespace through the proxy.")
    .addSettings(captureTable, env)
    .addSettings(ignoredCaptureFlags, env)
    .addVariablesHelp({ Redirection: captureTable })
    .tolerateUnknownFlags()
    .allowExcessArguments();
  return command.action(async (options: CaptureOptions) => {
    for (const warning of command.settingWarnings()) process.stderr.write(`pilot-agent: ${warning}\n`);
    exit(await capture(options, env));
  });
}

/** Returns the redirection of a Pod with these addresses. */
export async function captureOf(options: CaptureOptions, addresses: readonly string[]): Promise<Capture> {
  const proxyUid = options.proxyUid || (await userId(options.envoyUser)) || "1337";
  const servers =
    options.redirectDns && !options.captureAllDns
      ? (await readResolvConf("/etc/resolv.conf")).servers.map((s) => s.address)
      : [];
  return {
    ...options,
    proxyUid,
    proxyGid: options.proxyGid || proxyUid,
    inboundMode: options.mode || "REDIRECT",
    dnsServers: servers,
    ipv6: options.dualStack ? addresses.some((a) => isIPv6(a)) : isIPv6(addresses[0] ?? ""),
  };
}

async function capture(options: CaptureOptions, env: Environment): Promise<number> {
  if (options.nftables) throw new SettingError("--native-nftables is not supported: rules are applied by iptables");
  const binary = options.binary;
  const wanted = await captureOf(
    options,
    workloadAddresses("").filter((address) => !["127.0.0.1", "::1"].includes(address)),
  );
  try {
    if (options.dryRun) {
      for (const version of [4, 6] as const) process.stdout.write(restoreInput(captureRules(wanted, version)));
      return 0;
    }
    const run = localRun(
      options.networkNamespace === "" ? [] : ["nsenter", `--net=${options.networkNamespace}`, "--"],
      env,
    );
    const how: ApplyOptions = {
      run,
      ...(binary !== "" && { binary }),
      reconcile: options.reconcile,
      force: options.force,
    };
    if (options.cleanupOnly) await removeCapture(wanted, how);
    else if (!options.skipApply) process.stdout.write(`rules: ${await applyCapture(wanted, how)}\n`);
  } catch (error) {
    throw error instanceof RedirectionError
      ? AgentError.from(error, error.code === "setting" ? "option" : "redirection", "traffic cannot be redirected")
      : error;
  }
  return options.validate ? validate(options, wanted) : 0;
}

async function validate(
  { probePort, probeTimeout }: CaptureOptions,
  { proxyPort, inboundCapturePort, ipv6 }: Capture,
): Promise<number> {
  try {
    await verifyCapture({
      proxyPorts: [Number(proxyPort), Number(inboundCapturePort)],
      probePort,
      timeout: probeTimeout,
      ipv6,
    });
    return 0;
  } catch (error) {
    if (!(error instanceof RedirectionError)) throw error;
    process.stderr.write(`pilot-agent: ${error.message}\n`);
    return validationFailed;
  }
}

/** Returns the ID of a user of this machine (passwd(5)). */
async function userId(name: string): Promise<string | undefined> {
  const lines = await readFile("/etc/passwd", "utf8").catch(() => "");
  return lines
    .split("\n")
    .map((line) => line.split(":"))
    .find(([user]) => user === name)?.[2];
}
