import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { systemNamespaces } from "@istiod/config-schema";
import { readServerVersion, requestInPod } from "@istiod/kubernetes";
import { parseDurationMs } from "@istiod/settings";
import { SettingsCommand } from "@istiod/settings/command";
import { type Command, InvalidArgumentError, Option } from "commander";
import {
  type Cluster,
  type ClusterCommandOptions,
  type ClusterFlags,
  clusterOptions,
  withCluster,
} from "../cluster/cluster.js";
import { listObjects, resources } from "../cluster/objects.js";
import { type Pod, workloadOf } from "../cluster/pod-of.js";
import { kubeconfigAccess } from "../kubeconfig-access.js";
import { writeArchive } from "./archive.js";
import { addAnalysis, addClusterFiles } from "./cluster-files.js";
import { addPodFiles, isReported, type PodRequester } from "./pod-files.js";
import { parsePodSelection, type PodContainer, type PodMatcher } from "./pod-selection.js";
import { ReportFiles } from "./report-files.js";

interface BugReportFlags extends ClusterFlags {
  readonly include: readonly PodMatcher[];
  readonly exclude: readonly PodMatcher[];
  readonly startTime?: number;
  readonly endTime?: number;
  readonly duration?: number;
  readonly timeout: number;
  readonly tail?: number;
  readonly outputDir: string;
  readonly fullSecrets: boolean;
  readonly skipClusterDump: boolean;
  readonly skipAnalyze: boolean;
  readonly skipProxyDebug: boolean;
  readonly rqConcurrency: number;
  readonly dryRun: boolean;
}

/** Name of the archive, and of the folder in it. */
const reportName = "bug-report";

export interface BugReportOptions extends ClusterCommandOptions {
  /** Version of the command. */
  readonly version: string;
  /** Returns the time in milliseconds since the Unix epoch. */
  readonly now: () => number;
  /** Sends requests to ports of Pods. Default: through the API server. */
  readonly request?: PodRequester;
}

/** `istiod bug-report`: an archive of what a fault in a mesh needs to be found. */
export function bugReportCommand(options: BugReportOptions): Command {
  const command = new SettingsCommand("bug-report").description(
    `Write the state of a mesh to ${reportName}.tar.gz: objects without the values of Secrets, findings, logs, and what istiod and Envoys answer. Exits with 3 if something could not be read, which the file errors in it lists.`,
  );
  for (const option of [...selectionOptions(), ...outputOptions(), ...clusterOptions("ignored, see --include")])
    command.addOption(option);
  return command.action((flags: BugReportFlags) =>
    withCluster(flags, options.env, (cluster) => report(cluster, flags, options)),
  );
}

async function report(cluster: Cluster, flags: BugReportFlags, options: BugReportOptions): Promise<void> {
  const { print, warn, exit } = options;
  const containers = await selectedContainers(cluster, flags);
  print("Fetching logs and dumps of these containers:\n");
  for (const { pod, container } of containers) print(`  ${pod.metadata.namespace}/${pod.metadata.name}/${container}\n`);
  if (flags.dryRun) return print("Dry run: no archive is written\n");
  const files = new ReportFiles(flags.timeout);
  files.later("versions", async () => {
    const { major, minor } = await readServerVersion(cluster.client);
    return `istiod bug-report: ${options.version}\nKubernetes: ${major}.${minor}\nAPI server: ${cluster.client.server}\n`;
  });
  if (!flags.skipClusterDump) addClusterFiles(cluster, files, flags);
  const access = await kubeconfigAccess(flags, options.env);
  const request = options.request ?? ((page, timeoutMs) => requestInPod(access, page, timeoutMs));
  const window = { from: startOf(flags, options.now()), to: flags.endTime, tail: flags.tail };
  for (const container of containers)
    addPodFiles(cluster, request, files, container, { window, skipsProxyDebug: flags.skipProxyDebug });
  if (!flags.skipAnalyze) addAnalysis(cluster, files);
  await files.collect(flags.rqConcurrency);
  await mkdir(flags.outputDir, { recursive: true });
  const path = join(flags.outputDir, `${reportName}.tar.gz`);
  await writeArchive(path, reportName, files.entries());
  print(`Wrote ${path}\n`);
  if (files.faults.length === 0) return;
  for (const fault of files.faults) warn(`Warning: ${fault}\n`);
  exit(3);
}

/** Returns the beginning of logs in milliseconds since the Unix epoch; undefined for all. */
function startOf({ startTime, endTime, duration }: BugReportFlags, now: number): number | undefined {
  return duration === undefined ? startTime : (endTime ?? now) - duration;
}

/** Returns the containers of istiod, and those of proxies that the flags select, by name. */
async function selectedContainers(cluster: Cluster, flags: BugReportFlags): Promise<readonly PodContainer[]> {
  const pods = await listObjects<Pod>(cluster.client, resources.pods);
  return pods
    .flatMap((pod) => {
      const containers = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])];
      return containers.map(({ name }) => ({ pod, container: name, workload: workloadOf(pod) }));
    })
    .filter((each) => isReported(each, flags.istioNamespace) && isSelected(each, flags));
}

function isSelected(candidate: PodContainer, { include, exclude, istioNamespace }: BugReportFlags): boolean {
  const { namespace } = candidate.pod.metadata;
  const isIncluded =
    include.length === 0
      ? !systemNamespaces.has(namespace) || namespace === istioNamespace
      : include.some((matches) => matches(candidate));
  return isIncluded && !exclude.some((matches) => matches(candidate));
}

function selectionOptions(): readonly Option[] {
  const syntax = "namespaces/workloads/pods/labels/annotations/containers";
  const selection = (flag: string, help: string): Option =>
    new Option(`${flag} <selection>`, `${help}: ${syntax}, with patterns; repeatable`)
      .default([], "")
      .argParser((text: string, before: readonly PodMatcher[]) => [...before, parsed(text)]);
  return [
    selection("--include", "Pods whose proxies are reported (default: all outside of system namespaces)"),
    selection("--exclude", "Pods that are left out"),
    new Option("--start-time <time>", "time of the first line of logs, such as 2026-01-31T09:00:00Z")
      .argParser(time)
      .conflicts("duration"),
    new Option("--end-time <time>", "time of the last line of logs (default: now)").argParser(time),
    new Option("--duration <duration>", "time before the end from which logs are read, such as 2h").argParser(duration),
    new Option("--tail <lines>", "last lines of each log (default: all)").argParser(count),
  ];
}

function outputOptions(): readonly Option[] {
  return [
    new Option("--output-dir <directory>", "directory of the archive").default(".", "the current one"),
    new Option("--timeout <duration>", "time after which only what was read is written")
      .default(30 * 60_000, "30m")
      .argParser(duration),
    new Option("--rq-concurrency <number>", "requests at the same time").default(32).argParser(count),
    new Option("--full-secrets", "include the values of Secrets").default(false),
    new Option("--skip-cluster-dump", "leave out the objects of the cluster").default(false),
    new Option("--skip-analyze", "leave out the findings").default(false),
    new Option("--skip-proxy-debug", "leave out the dumps of Envoys").default(false),
    new Option("--dry-run", "print the containers, and read nothing").default(false),
  ];
}

function parsed(text: string): PodMatcher {
  try {
    return parsePodSelection(text);
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message);
  }
}

function time(text: string): number {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text) || Number.isNaN(Date.parse(text)))
    throw new InvalidArgumentError("expected a time such as 2026-01-31T09:00:00Z");
  return Date.parse(text);
}

/** Longest time of a timer of Node. */
const longestTimerMs = 2 ** 31 - 1;

function duration(text: string): number {
  const milliseconds = parseDurationMs(text);
  if (milliseconds === undefined || milliseconds <= 0)
    throw new InvalidArgumentError("expected a duration such as 30m");
  return Math.min(Math.ceil(milliseconds), longestTimerMs);
}

function count(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError("expected a whole number of at least 1");
  return Number(text);
}
