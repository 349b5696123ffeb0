import { readFile } from "node:fs/promises";
import {
  compareDumps,
  formatComparison,
  formatTable,
  formatValue,
  proxyStatusTable,
  readConfigDump,
  readProxyStatuses,
} from "@istiod/proxy-config";
import { SettingsCommand } from "@istiod/settings/command";
import { type Command, InvalidArgumentError, Option } from "commander";
import { ask, defaultIstiod, istiodDump } from "../proxy-dump.js";

interface ProxyStatusValues {
  readonly istiod: string;
  readonly output: "table" | "json" | "yaml";
  readonly namespace?: string;
  readonly verbosity: number;
  readonly admin?: string;
  readonly file?: string;
}

/**
 * `istiod proxy-status`: what the proxies of a running istiod have acknowledged, or whether one of them has what it was
 * sent.
 */
export function proxyStatusCommand(print: (text: string) => void): Command {
  return new SettingsCommand("proxy-status")
    .alias("ps")
    .description(
      "Print the synchronization status of each proxy; of one proxy, the differences between what istiod sent and what the Envoy has.",
    )
    .argument("[proxy]", "the proxy to compare: name.namespace of its Pod, or its node ID; needs --admin or --file")
    .option("--istiod <url>", "HTTP URL of a running istiod", defaultIstiod)
    .option("-n, --namespace <namespace>", "proxies of this namespace only")
    .option("--admin <url>", "admin interface of the Envoy that is compared, such as http://127.0.0.1:15000")
    .option("-f, --file <file>", "config dump of the Envoy that is compared")
    .addOption(
      new Option("-v, --verbosity <n>", "0: subscribed types; 1: a column for each type, with its status")
        .default(0)
        .argParser(verbosity),
    )
    .addOption(new Option("-o, --output <format>", "output format").choices(["table", "json", "yaml"]).default("table"))
    .action(async (proxy: string | undefined, values: ProxyStatusValues) =>
      print(proxy === undefined ? await statuses(values) : await comparison(proxy, values)),
    );
}

async function statuses({
  istiod,
  namespace,
  output,
  verbosity: level,
  admin,
  file,
}: ProxyStatusValues): Promise<string> {
  if (admin !== undefined || file !== undefined)
    throw new Error(`${admin === undefined ? "--file" : "--admin"}: expected the proxy to compare as an argument`);
  const found = readProxyStatuses(await ask("--istiod", istiod, "/debug/client_status"), namespace);
  return output === "table"
    ? formatTable(proxyStatusTable(found, { verbose: level > 0 }))
    : formatValue(found.response, output);
}

async function comparison(proxy: string, { istiod, admin, file, output }: ProxyStatusValues): Promise<string> {
  if ((admin === undefined) === (file === undefined))
    throw new Error(`proxy ${proxy}: expected --admin or --file to compare with what istiod sent`);
  if (output !== "table") throw new Error(`--output ${output}: differences are text only`);
  const own = readConfigDump(
    admin === undefined ? await read(file ?? "") : await ask("--admin", admin, "/config_dump"),
  );
  return formatComparison(compareDumps(await istiodDump(istiod, proxy), own));
}

async function read(file: string): Promise<string> {
  return readFile(file, "utf8").catch((cause: Error) => {
    throw new Error(`--file ${file}: ${cause.message}`, { cause });
  });
}

function verbosity(value: string): number {
  if (!/^\d$/.test(value)) throw new InvalidArgumentError("expected 0 or 1");
  return Number(value);
}
