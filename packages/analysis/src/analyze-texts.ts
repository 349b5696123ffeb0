import { Ledger } from "@istiod/config-ingestion";
import {
  allKinds,
  analysisKinds,
  applyChanges,
  applyMeshConfig,
  defaultMeshConfig,
  environment,
  type FieldPath,
  meshConfig,
  meshConfigKey,
  meshNetworks,
  meshNetworksKey,
  parseYaml,
  type Problem,
  readMeshNetworks,
  remoteKinds,
  type Report,
} from "@istiod/config-schema";
import { Database, type Transaction } from "@istiod/incremental";
import type { MeshConfig } from "@istiod/istio-api/mesh/v1alpha1/config";
import { noProxy, type Proxy } from "@istiod/push-context";
import type { Finding } from "./finding.js";
import { isReported } from "./analyzers/schema.js";
import { assumeIngressGateway } from "./assumed-ingress-gateway.js";
import { findings, findingsOf } from "./findings.js";
import { writeNow } from "./now.js";
import { writeWholeCluster } from "./served.js";
import { FileLines, messageAt } from "./messages/places.js";
import { type Message, messageOfProblem, sortMessages } from "./messages/message.js";
import { isSuppressed, isSuppressedByObject, type Suppression } from "./messages/suppression.js";

/** A file by its name and content. */
export interface TextFile {
  /** Name by which messages refer to it. */
  readonly file: string;
  readonly text: string;
}

/** A file of the objects of one cluster. */
export interface ObjectFile extends TextFile {
  /** ID of the cluster. Default: the cluster of the mesh's configuration. */
  readonly cluster?: string;
}

export interface TextsToAnalyze {
  /** YAML or JSON documents. If an object is defined twice, the first definition by file name and line applies. */
  readonly files: readonly ObjectFile[];
  /** Mesh configuration. Default: Istio's defaults. */
  readonly meshConfig?: TextFile;
  /** Mesh networks. Default: none. */
  readonly meshNetworks?: TextFile;
  /** Variables of istiod, such as `CLUSTER_ID` and `DOMAIN_SUFFIX`. */
  readonly environment?: Readonly<Record<string, string>>;
  /**
   * Revision of the control plane whose configuration is analyzed: Istio's objects of others are reported, not read.
   * Default: all are read.
   */
  readonly revision?: string;
  readonly suppressions?: readonly Suppression[];
  /**
   * Set if the files have all objects of a cluster, so that no workload is missing, and no ingress gateway is assumed.
   * Default: false, one is assumed to be installed unless the mesh configuration disables Ingress.
   */
  readonly isWholeCluster?: boolean;
  /** Names of the analyzers to run. Default: all except those that run only on request. */
  readonly analyzers?: readonly string[];
  /**
   * The time at which certificates must be valid, in milliseconds since the Unix epoch, rounded down to the hour.
   * Default: the current time.
   */
  readonly time?: number;
  /** Returns findings in addition to those of analyzers, if all of them run. Default: none. */
  readonly others?: (database: Database<Proxy>) => readonly Finding[];
}

export interface Analysis {
  readonly messages: readonly Message[];
  /** Files with documents that could not be parsed. */
  readonly unparsed: readonly string[];
}

const kinds = [...allKinds, ...analysisKinds];
const kindsOfRemoteClusters = [...remoteKinds, ...analysisKinds];

/**
 * Analyzes configuration in texts, including objects that validation rejects.
 *
 * @throws Error that names an analyzer that does not exist.
 */
export function analyzeTexts(input: TextsToAnalyze): Analysis {
  const { files, suppressions = [] } = input;
  const asked = input.analyzers === undefined ? findings : findingsOf(input.analyzers);
  const own = input.environment?.["CLUSTER_ID"] || "Kubernetes";
  const ledgers = readFiles(files, own, input.revision);
  const problems = [...ledgers.values()].flatMap((ledger) => ledger.problems());
  const database = new Database<Proxy>();
  database.commit((tx) => {
    for (const [name, value] of Object.entries(input.environment ?? {})) tx.set(environment, name, value);
    writeNow(tx, input.time ?? Date.now());
    const config = writeMesh(tx, input, problems);
    if (input.isWholeCluster === true) writeWholeCluster(tx);
    else assumeIngressGateway(tx, config, own);
    for (const ledger of ledgers.values()) applyChanges(tx, ledger.takeChanges());
  });
  const lines = new FileLines(new Map(files.map(({ file, text }) => [file, text])));
  const places = {
    kinds,
    ledgers: [...ledgers.values()],
    lines,
    inMesh: (kind: string, path: FieldPath) => placeInMesh(input, kind, path),
  };
  const others = input.analyzers === undefined ? (input.others?.(database) ?? []) : [];
  const found = [...database.view(noProxy).call(asked), ...others].filter(
    (finding) => !isSuppressedByObject(database, finding),
  );
  const reported =
    input.analyzers === undefined ? problems : problems.filter((problem) => isReported(problem, input.analyzers ?? []));
  const messages = [...reported.map(messageOfProblem), ...found.flatMap((finding) => messageAt(finding, places) ?? [])];
  return {
    messages: sortMessages(messages.filter((message) => !isSuppressed(message, suppressions))),
    unparsed: [...new Set(problems.filter(({ subject }) => subject === undefined).map(({ file }) => file))],
  };
}

/** Reads the files into one ledger per cluster. */
function readFiles(files: readonly ObjectFile[], own: string, revision = ""): ReadonlyMap<string, Ledger> {
  const ledgers = new Map<string, Ledger>();
  for (const { file, text, cluster = own } of files) {
    let ledger = ledgers.get(cluster);
    if (ledger === undefined) {
      const read = cluster === own ? kinds : kindsOfRemoteClusters;
      ledger = new Ledger({ kinds: read, acceptInvalid: true, cluster, revision });
      ledgers.set(cluster, ledger);
    }
    ledger.replaceFile(file, text);
  }
  return ledgers;
}

/** Writes mesh configuration and networks, or defaults if they are invalid, and returns the mesh configuration. */
function writeMesh(tx: Transaction, input: TextsToAnalyze, problems: Problem[]): MeshConfig {
  const config = readMesh(input.meshConfig, problems, applyMeshConfig) ?? defaultMeshConfig();
  tx.set(meshConfig, meshConfigKey, config);
  const networks = readMesh(input.meshNetworks, problems, readMeshNetworks);
  if (networks !== undefined) tx.set(meshNetworks, meshNetworksKey, networks);
  return config;
}

function readMesh<T>(
  given: TextFile | undefined,
  problems: Problem[],
  read: (document: unknown, report: Report) => T | undefined,
): T | undefined {
  const { file, text } = given ?? { file: "", text: "" };
  const parsed = parseYaml({ text, line: 1 });
  if ("message" in parsed) {
    problems.push({ severity: "error", file, line: parsed.line, path: [], message: `is not YAML: ${parsed.message}` });
    return undefined;
  }
  const report =
    (severity: Problem["severity"]) =>
    (path: FieldPath, message: string): void =>
      void problems.push({ severity, file, line: parsed.lineOf(path), path, message });
  return read(parsed.value, { error: report("error"), warning: report("warning") });
}

function placeInMesh(
  input: TextsToAnalyze,
  kind: string,
  path: FieldPath,
): { readonly file: string; readonly line: number } | undefined {
  const given = kind === "MeshConfig" ? input.meshConfig : input.meshNetworks;
  if (given === undefined) return undefined;
  const parsed = parseYaml({ text: given.text, line: 1 });
  return { file: given.file, line: "message" in parsed ? 1 : parsed.lineOf(path) };
}
