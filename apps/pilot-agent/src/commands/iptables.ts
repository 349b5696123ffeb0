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
import { Command } from "commander";
import { readResolvConf } from "../dns/resolv-conf.js";
import { AgentError } from "../errors.js";
import { workloadAddresses } from "../node/addresses.js";
import { type CaptureOptions, captureTable } from "../options/capture-table.js";
import type { Option } from "../options/option.js";
import { valueOf } from "../options/read-options.js";
import { flagWarnings, ineffectiveCaptureFlags } from "../options/without-effect.js";
import { displayDefault } from "./help.js";

type Env = Readonly<Record<string, string | undefined>>;

/** What Istio's init container expects of a validation that failed. */
const validationFailed = 126;

/** The command `istio-iptables`, with Istio's flags. */
export function iptablesCommand(env: Env, exit: (code: number) => void): Command {
  const command = new Command("istio-iptables")
    .description("Lead the traffic of this network namespace through the proxy.")
    .allowUnknownOption()
    .allowExcessArguments();
  const options = Object.values<Option<unknown>>(captureTable);
  for (const option of options) {
    if (option.flag === undefined) continue;
    const short = option.short === undefined ? "" : `-${option.short}, `;
    const variable = option.env === undefined ? "" : `; ${option.env}`;
    command.option(
      `${short}--${option.flag} ${option.kind === "switch" ? "[true|false]" : `<${option.kind}>`}`,
      `${option.help} (default: ${displayDefault(option)}${variable})`,
    );
  }
  const declared = new Set(options.map(({ flag }) => flag));
  for (const { flag, kind, why } of ineffectiveCaptureFlags) {
    if (!declared.has(flag))
      command.option(`--${flag} ${kind === "switch" ? "[true|false]" : "<text>"}`, `No effect: ${why}.`);
  }
  const variables = options
    .filter((option) => option.flag === undefined)
    .map((option) => `  ${option.env} (default: ${displayDefault(option)})\n      ${option.help}`);
  command.addHelpText("after", `\nEnvironment variables\n\n${variables.join("\n")}`);
  return command.action(async (_given: unknown, self: Command) => {
    for (const warning of flagWarnings(
      { flags: givenFlags(self), unknown: self.args },
      ineffectiveCaptureFlags,
      options,
    ))
      process.stderr.write(`pilot-agent: ${warning}\n`);
    exit(await capture(readCaptureOptions(givenFlags(self), env), env));
  });
}

/** The value of every setting. @throws AgentError `option` */
export function readCaptureOptions(flags: Env, env: Env): CaptureOptions {
  // Other components know these by other names.
  const other: Env = {
    REDIRECT_DNS: env["ISTIO_META_DNS_CAPTURE"],
    DROP_INVALID: env["INVALID_DROP"],
    DUAL_STACK: env["ISTIO_DUAL_STACK"],
  };
  const known = {
    ...env,
    ...Object.fromEntries(
      Object.entries(other).flatMap(([name, value]) => (env[name] || !value ? [] : [[name, value]])),
    ),
  };
  return Object.fromEntries(
    Object.entries<Option<unknown>>(captureTable).map(([property, option]) => [
      property,
      valueOf(option, flags, known),
    ]),
  ) as CaptureOptions;
}

/** What these settings capture, in a pod with these addresses. @throws AgentError `option` */
export async function captureOf(options: CaptureOptions, addresses: readonly string[]): Promise<Capture> {
  const { mode } = options;
  if (mode !== "" && mode !== "REDIRECT" && mode !== "TPROXY")
    throw new AgentError(
      "option",
      `--istio-inbound-interception-mode: ${JSON.stringify(mode)}: expected REDIRECT or TPROXY`,
    );
  const proxyUid = options.proxyUid || (await userId(options.envoyUser)) || "1337";
  const servers =
    options.redirectDns && !options.captureAllDns
      ? (await readResolvConf("/etc/resolv.conf")).servers.map((s) => s.address)
      : [];
  return {
    ...options,
    proxyUid,
    proxyGid: options.proxyGid || proxyUid,
    inboundMode: mode || "REDIRECT",
    dnsServers: servers,
    ipv6: options.dualStack ? addresses.some((a) => isIPv6(a)) : isIPv6(addresses[0] ?? ""),
  };
}

async function capture(options: CaptureOptions, env: Env): Promise<number> {
  if (options.nftables)
    throw new AgentError("option", "--native-nftables is not supported: rules are made by iptables");
  const binary = options.binary;
  if (binary !== "" && binary !== "legacy" && binary !== "nft")
    throw new AgentError("option", `--force-iptables-binary: ${JSON.stringify(binary)}: expected legacy or nft`);
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

/** The flags that were given, by their names. */
function givenFlags(command: Command): Env {
  return Object.fromEntries(
    command.options.map((option) => {
      const value: unknown = command.getOptionValue(option.attributeName());
      return [option.long?.slice(2) ?? "", value === undefined ? undefined : value === true ? "true" : String(value)];
    }),
  );
}

/** The number of a user of this machine (passwd(5)). */
async function userId(name: string): Promise<string | undefined> {
  const lines = await readFile("/etc/passwd", "utf8").catch(() => "");
  return lines
    .split("\n")
    .map((line) => line.split(":"))
    .find(([user]) => user === name)?.[2];
}
