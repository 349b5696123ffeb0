import { readFile } from "node:fs/promises";
import {
  type ConnectedProxy,
  decodeAnswers,
  decodeClientStatus,
  decodeProxies,
  formatSilent,
  formatUnserved,
  httpReplicas,
  incompleteExit,
  joinConnections,
  latestClientStatuses,
  unservedClients,
} from "@istiod/replicas";
import {
  compareDumps,
  formatComparison,
  formatTable,
  formatValue,
  type ProxyStatuses,
  proxyStatusTable,
  readConfigDump,
  readProxyStatuses,
} from "@istiod/proxy-config";
import { SettingsCommand } from "@istiod/settings/command";
import { type Command, InvalidArgumentError, Option } from "commander";
import { ask, istiodDump } from "./proxy-dump.js";
import { istiodHelp, istiodOption, istiodUrls, noAnswer, unanswered } from "./control-plane-flags.js";

interface ProxyStatusValues {
  readonly istiod: readonly string[];
  readonly output: "table" | "json" | "yaml";
  readonly namespace?: string;
  readonly verbosity: number;
  readonly admin?: string;
  readonly file?: string;
}

/** The streams of `istiod proxy-status`. */
export interface ProxyStatusOutput {
  readonly print: (text: string) => void;
  readonly warn: (text: string) => void;
  readonly exit: (status: number) => void;
}

/**
 * `istiod proxy-status`: what the proxies of all replicas have acknowledged, or whether one of them has what it was
 * sent.
 */
export function proxyStatusCommand(output: ProxyStatusOutput): Command {
  return new SettingsCommand("proxy-status")
    .alias("ps")
    .description(
      "Print the synchronization status of each proxy of all replicas; of one proxy, the differences between what istiod sent and what the Envoy has. Exits with 5 if a replica does not answer.",
    )
    .argument("[proxy]", "the proxy to compare: name.namespace of its Pod, or its node ID; needs --admin or --file")
    .addOption(istiodOption(istiodHelp))
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
      proxy === undefined ? statuses(values, output) : output.print(await comparison(proxy, values)),
    );
}

async function statuses(
  { istiod, namespace, output, verbosity: level, admin, file }: ProxyStatusValues,
  { print, warn, exit }: ProxyStatusOutput,
): Promise<void> {
  if (admin !== undefined || file !== undefined)
    throw new Error(`${admin === undefined ? "--file" : "--admin"}: expected the proxy to compare as an argument`);
  const askAll = httpReplicas(istiodUrls(istiod));
  const gathered = decodeAnswers(await askAll("client_status"), decodeClientStatus);
  if (gathered.answers.length === 0) throw noAnswer(gathered);
  const proxies = decodeAnswers(await askAll("proxies"), decodeProxies);
  const connections = joinConnections(proxies, (answer) => answer);
  const { answers } = latestClientStatuses(gathered, connections);
  const found = answers.map(({ answer }) => readProxyStatuses(JSON.stringify(answer), namespace));
  print(
    output === "table" ? table(found, level > 0) : found.map(({ response }) => formatValue(response, output)).join(""),
  );
  warn(formatUnserved(unservedClients(connections.latest.filter(({ proxy }) => isOf(proxy, namespace)))));
  const silent = unanswered(gathered);
  warn(formatSilent(silent));
  exit(silent.length === 0 ? 0 : incompleteExit);
}

/** Reports whether a proxy is of a namespace, by its node ID. */
function isOf({ node }: ConnectedProxy, namespace: string | undefined): boolean {
  return !namespace || node.split("~")[2]?.endsWith(`.${namespace}`) === true;
}

/** Returns the proxies of all replicas, sorted as by `istioctl`. */
function table(found: readonly ProxyStatuses[], verbose: boolean): string {
  const proxies = found.flatMap((each) => each.proxies).sort((a, b) => (a.proxy < b.proxy ? -1 : 1));
  return formatTable(proxyStatusTable({ proxies }, { verbose }));
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
