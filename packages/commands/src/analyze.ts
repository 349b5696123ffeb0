import {
  analyzers,
  analyzeTexts,
  type Analysis,
  type Finding,
  type Format,
  formatMessages,
  formats,
  isAtLeast,
  type Level,
  levels,
  type Message,
  messageTypes,
  parseSuppression,
  selectMessages,
  type Suppression,
  type TextsToAnalyze,
} from "@istiod/analysis";
import { clusterDirectory, type NamedText, readObjectFiles, readOptionalFile } from "@istiod/config-ingestion";
import { envoyFilters, meshConfig, meshConfigKey } from "@istiod/config-schema";
import { patchFindings, providerFindings } from "@istiod/explain";
import type { Database } from "@istiod/incremental";
import { podProxies, type Proxy } from "@istiod/push-context";
import { booleanArgument, SettingsCommand } from "@istiod/settings/command";
import { type Command, InvalidArgumentError, Option } from "commander";
import { withCluster } from "./cluster/cluster.js";
import { analyzeCluster } from "./cluster/cluster-analysis.js";
import { meshFlags } from "./mesh-flags.js";
import type { MeshFlags } from "./mesh-flags.js";

interface AnalyzeValues extends Omit<MeshFlags, "namespace"> {
  readonly filename: readonly string[];
  readonly istiod?: string;
  readonly revision?: string;
  readonly meshConfigFile?: string;
  readonly output: Format;
  readonly failureThreshold: Level;
  readonly outputThreshold: Level;
  readonly color?: boolean;
  readonly suppress: readonly string[];
  readonly namespace?: string;
  readonly analyzer: readonly string[];
  readonly listAnalyzers: boolean;
  readonly ignoreUnknown: boolean;
  readonly verbose: boolean;
  readonly useKube?: boolean;
  readonly kubeconfig: string;
  readonly context: string;
  readonly istioNamespace: string;
}

/** The streams of `istiod analyze`. */
export interface AnalyzeOutput {
  print(text: string): void;
  warn(text: string): void;
  exit(status: number): void;
  /** Reads standard input to its end. */
  stdin(): Promise<string>;
  /** Set if the output is a terminal that supports colors. */
  readonly isColorTerminal: boolean;
}

/** Exit statuses of `istioctl analyze`. */
export const analyzeExits = { passed: 0, notParsed: 65, found: 79 } as const;

/** Flags of the mesh that `istiod analyze` shares with `istiod discovery`. */
const { namespace: _, ...analyzeFlags } = meshFlags;

/** `istiod analyze`: findings about configuration in files, of a cluster, or of a running istiod. */
export function analyzeCommand(env: NodeJS.ProcessEnv, output: AnalyzeOutput): Command {
  const command = new SettingsCommand("analyze")
    .description("Analyze configuration and print findings, with the codes of `istioctl analyze`.")
    .argument("[files...]", "files and directories; - reads standard input");
  for (const option of [...inputOptions(), ...outputOptions()]) command.addOption(option);
  command.addSettings(analyzeFlags, env);
  return command.action(async (files: readonly string[], values: AnalyzeValues) => {
    if (values.listAnalyzers) return output.print(analyzerList());
    const suppressions = values.suppress.map((value) => suppression(value, output));
    const isGiven = (flag: string): boolean => command.getOptionValueSource(flag) === "cli";
    const context: Context = { env, output, isGiven };
    report(await analysisOf(files, values, context), suppressions, values, output);
  });
}

/** Options that select what is analyzed, and how. */
function inputOptions(): readonly Option[] {
  return [
    repeated("-f, --filename <file>", "file or directory to analyze; repeatable"),
    new Option("--istiod <url>", "analyze a running istiod, by its --httpAddr, such as http://127.0.0.1:8080"),
    new Option("--revision <revision>", "objects that this revision reads (default: all)"),
    repeated("--analyzer <name>", "only this analyzer; repeatable (default: all)"),
    repeated("-S, --suppress <code=object>", 'leave out "IST0103=Pod testing/*"; repeatable'),
    new Option("--ignore-unknown", "exit with 0 although files cannot be parsed").default(false),
    new Option("--meshConfigFile <file>", "istioctl's name of --meshConfig"),
    new Option(
      "-k, --use-kube [bool]",
      "analyze a cluster, with files in place of its objects (default: without files, or with a kubeconfig)",
    )
      .argParser(booleanArgument)
      .preset("true"),
    new Option("-c, --kubeconfig <file>", "kubeconfig of the cluster (default: KUBECONFIG or ~/.kube/config)").default(
      "",
      "",
    ),
    new Option("--context <name>", "its context (default: the current one)").default("", ""),
    new Option("-i, --istioNamespace <ns>", "namespace of the control plane").default("istio-system"),
  ];
}

/** Options that select which findings are printed, how, and with which exit status. */
function outputOptions(): readonly Option[] {
  return [
    new Option("-o, --output <format>", "output format").choices(formats).default("log"),
    new Option("--failure-threshold <level>", "exit with 79 for this severity or above")
      .argParser(level)
      .default("Error"),
    new Option("--output-threshold <level>", "print findings of this severity or above")
      .argParser(level)
      .default("Info"),
    new Option("--color [bool]", "color the output (default: in a terminal)").argParser(booleanArgument).preset("true"),
    new Option("-n, --namespace <ns>", "findings about this namespace and cluster-scoped objects only (default: all)"),
    new Option("-A, --all-namespaces", "findings about all namespaces, the default"),
    new Option("-L, --list-analyzers", "list the analyzers and exit").default(false),
    new Option("-v, --verbose", "print the analyzers that ran").default(false),
  ];
}

function report(
  { messages: all, unparsed }: Analysis,
  suppressions: readonly Suppression[],
  values: AnalyzeValues,
  output: AnalyzeOutput,
): void {
  const { namespace, analyzer } = values;
  const messages = selectMessages(all, {
    suppressions,
    analyzers: analyzer,
    ...(namespace !== undefined && { namespace }),
  });
  const shown = messages.filter((message) => isAtLeast(message.level, values.outputThreshold));
  const color = values.color ?? output.isColorTerminal;
  if (shown.length > 0 || values.output === "json" || values.output === "yaml")
    output.print(formatMessages(shown, values.output, color));
  if (values.verbose)
    output.warn(["Executed analyzers:", ...executed(analyzer).map((name) => `\t${name}`), ""].join("\n"));
  if (shown.length === 0)
    output.warn(
      unparsed.length === 0 ? "\u2714 No findings.\n" : `No findings, but not parsed: ${unparsed.join(", ")}.\n`,
    );
  if (messages.some((message) => isAtLeast(message.level, values.failureThreshold))) output.exit(analyzeExits.found);
  else output.exit(unparsed.length > 0 && !values.ignoreUnknown ? analyzeExits.notParsed : analyzeExits.passed);
}

interface Context {
  readonly env: NodeJS.ProcessEnv;
  readonly output: AnalyzeOutput;
  readonly isGiven: (flag: string) => boolean;
}

async function analysisOf(files: readonly string[], values: AnalyzeValues, context: Context): Promise<Analysis> {
  const { istiod, useKube, kubeconfig, context: kubeContext } = values;
  const named = [...(values.configDir === "" ? [] : [values.configDir]), ...values.filename, ...files];
  const usesCluster =
    useKube ?? (kubeconfig !== "" || kubeContext !== "" || (named.length === 0 && istiod === undefined));
  if (istiod !== undefined && usesCluster) throw new Error("--istiod and a cluster: expected one of them");
  if (istiod !== undefined) return ofIstiod(istiod);
  if (usesCluster) return ofCluster(values, await textsOf(named, values, context), context);
  if (named.length === 0)
    throw new Error("no files to analyze: give files or directories, --configDir, --istiod, or --use-kube");
  return analyzeTexts(await textsOf(named, values, context));
}

/** Analyzes a cluster, with the objects of texts in place of its own. */
async function ofCluster(values: AnalyzeValues, texts: TextsToAnalyze, { env, output }: Context): Promise<Analysis> {
  const { namespace: _, ...flags } = values;
  const { unread, ...analysis } = await withCluster(flags, env, (cluster) => analyzeCluster(cluster, texts));
  for (const reason of unread) output.warn(`Warning: analyzed without ${reason}\n`);
  return analysis;
}

async function textsOf(
  named: readonly string[],
  values: AnalyzeValues,
  { env, output, isGiven }: Context,
): Promise<TextsToAnalyze> {
  const read = async (path: string): Promise<readonly NamedText[]> =>
    path === "-" ? [{ file: "-", text: await output.stdin() }] : readObjectFiles(path);
  const own = (await Promise.all(named.map(read))).flat();
  const remote = await Promise.all(
    values.clusterDir
      .map(clusterDirectory)
      .map(async ([cluster, directory]) => (await read(directory)).map((file) => ({ ...file, cluster }))),
  );
  const config =
    (await optionalFile("meshConfigFile", values, isGiven)) ?? (await optionalFile("meshConfig", values, isGiven));
  const networks = await optionalFile("networksConfig", values, isGiven);
  const variables = Object.entries({
    ...env,
    CLUSTER_ID: values.clusterID,
    DOMAIN_SUFFIX: values.domain,
    ...(isGiven("istioNamespace") && { POD_NAMESPACE: values.istioNamespace }),
  });
  return {
    files: [...own, ...remote.flat()],
    ...(config && { meshConfig: config }),
    ...(networks && { meshNetworks: networks }),
    ...(values.revision !== undefined && { revision: values.revision }),
    ...(values.analyzer.length > 0 && { analyzers: values.analyzer }),
    others: findingsOfPods,
    environment: Object.fromEntries(variables.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))),
  };
}

/** Returns findings about EnvoyFilters and providers of telemetry, as the proxies of the Pods would get them. */
function findingsOfPods(database: Database<Proxy>): readonly Finding[] {
  const hasPatches = database.keys(envoyFilters).length > 0;
  const hasProviders = (database.read(meshConfig, meshConfigKey)?.extensionProviders.length ?? 0) > 0;
  if (!hasPatches && !hasProviders) return [];
  const clients = podProxies(database).map((proxy) => ({ proxy, view: database.view(proxy) }));
  const found = [
    ...(hasPatches ? patchFindings(database, clients) : []),
    ...(hasProviders ? providerFindings(clients) : []),
  ];
  for (const { view } of clients) view.release();
  return found;
}

/** Reads the file of a flag. @throws Error if the command line names a file that does not exist */
async function optionalFile(
  flag: "meshConfig" | "meshConfigFile" | "networksConfig",
  values: AnalyzeValues,
  isGiven: (flag: string) => boolean,
): Promise<NamedText | undefined> {
  const file = values[flag];
  if (file === undefined || file === "") return undefined;
  const found = await readOptionalFile(file);
  if (found === undefined && isGiven(flag)) throw new Error(`--${flag} ${file}: no such file`);
  return found;
}

async function ofIstiod(base: string): Promise<Analysis> {
  const url = new URL("/debug/analyze", base);
  const response = await fetch(url).catch((cause: unknown) => {
    throw new Error(`--istiod ${base}: no response`, { cause });
  });
  if (!response.ok) throw new Error(`--istiod ${base}: ${(await response.text()).trim()}`);
  return { messages: (await response.json()) as readonly Message[], unparsed: [] };
}

/** Returns the names of the analyzers that run where some or none are named. */
function executed(named: readonly string[]): readonly string[] {
  return named.length > 0 ? named : analyzers.filter(({ onRequest }) => onRequest !== true).map(({ name }) => name);
}

function analyzerList(): string {
  const sorted = [...analyzers].sort((a, b) => (a.name < b.name ? -1 : 1));
  return sorted.map(({ name, description }) => `* ${name}:\n    ${description}\n`).join("");
}

function suppression(value: string, { warn }: AnalyzeOutput): Suppression {
  const parsed = parseSuppression(value);
  if (!(parsed.code in messageTypes))
    warn(`Warning: --suppress ${value}: ${parsed.code} is not a known code and has no effect.\n`);
  return parsed;
}

function level(value: string): Level {
  const found = levels.find((name) => name.toLowerCase() === value.toLowerCase());
  if (found === undefined) throw new InvalidArgumentError(`expected one of ${levels.join(", ")}`);
  return found;
}

function repeated(flags: string, description: string): Option {
  return new Option(flags, description)
    .default([], "")
    .argParser((value: string, before: readonly string[]) => [...before, value]);
}
