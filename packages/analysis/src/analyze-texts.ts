import {
  allKinds,
  analysisKinds,
  applyChanges,
  applyMeshConfig,
  defaultMeshConfig,
  environment,
  FieldLines,
  type FieldPath,
  type Kind,
  Ledger,
  meshConfig,
  meshConfigKey,
  meshNetworks,
  meshNetworksKey,
  parseYaml,
  type Problem,
  readMeshNetworks,
  type Report,
} from "@istiod/config-ingestion";
import { Database, type Transaction } from "@istiod/incremental";
import type { MeshConfig } from "@istiod/istio-api/mesh/v1alpha1/config";
import { assumeIngressGateway } from "./assumed-ingress-gateway.js";
import type { Finding } from "./finding.js";
import { findings } from "./findings.js";
import { type Message, messageOfFinding, messageOfProblem, type Reference, sortMessages } from "./report.js";
import { isSuppressed, type Suppression } from "./suppression.js";

/** A file by its name and content. */
export interface TextFile {
  /** Name by which messages refer to it. */
  readonly file: string;
  readonly text: string;
}

export interface TextsToAnalyze {
  /** YAML or JSON documents. Of an object that is defined twice the first definition counts. */
  readonly files: readonly TextFile[];
  /** Mesh configuration. Default: Istio's defaults. */
  readonly meshConfig?: TextFile;
  /** Mesh networks. Default: none. */
  readonly meshNetworks?: TextFile;
  /** Variables of istiod, such as `CLUSTER_ID` and `DOMAIN_SUFFIX`. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Kinds that are read. Default: all that this version knows. */
  readonly kinds?: readonly Kind[];
  readonly suppressions?: readonly Suppression[];
}

export interface Analysis {
  readonly messages: readonly Message[];
  /** Files that could not be parsed. */
  readonly unparsed: readonly string[];
}

/**
 * Analyzes configuration that is not running anywhere. Objects that validation rejects are analyzed as well. Where the mesh
 * configuration does not turn Ingress off, an ingress gateway is assumed to be installed, as Istio's analysis does.
 */
export function analyzeTexts(input: TextsToAnalyze): Analysis {
  const { files, kinds = [...allKinds, ...analysisKinds] } = input;
  const cluster = input.environment?.["CLUSTER_ID"] || "Kubernetes";
  const database = new Database<undefined>();
  const ledger = new Ledger({ kinds, acceptInvalid: true, cluster });
  for (const { file, text } of files) ledger.replaceFile(file, text);
  const problems: Problem[] = [...ledger.problems()];
  database.commit((tx) => {
    for (const [name, value] of Object.entries(input.environment ?? {})) tx.set(environment, name, value);
    assumeIngressGateway(tx, writeMesh(tx, input, problems), cluster);
    applyChanges(tx, ledger.takeChanges());
  });
  const { suppressions = [] } = input;
  const found = database.view(undefined).call(findings).filter((finding) => !isSuppressed(database, finding, suppressions));
  const messages = found.flatMap((finding) => placed(finding, input, kinds, ledger, linesOf(files)));
  return {
    messages: sortMessages([...problems.map(messageOfProblem), ...messages]),
    unparsed: [...new Set(problems.filter(({ subject }) => subject === undefined).map(({ file }) => file))],
  };
}

/** Returns the message of a finding with its place; none for objects that were only assumed. */
function placed(finding: Finding, input: TextsToAnalyze, kinds: readonly Kind[], ledger: Ledger, lines: FileLines): readonly Message[] {
  const { origin, path } = finding;
  const kind = kinds.find(({ kind: name, group }) => name === origin.kind && group === origin.group);
  if (kind === undefined) return [messageOfFinding(finding, referenceInMesh(input, origin.kind, path))];
  const at = ledger.locate(kind, origin.key);
  return at === undefined ? [] : [messageOfFinding(finding, { file: at.file, line: lines(at.file)?.lineOf(at, path) ?? at.line })];
}

type FileLines = (file: string) => FieldLines | undefined;

function linesOf(files: readonly TextFile[]): FileLines {
  const texts = new Map(files.map(({ file, text }) => [file, text]));
  const lines = new Map<string, FieldLines>();
  return (file) => {
    const text = texts.get(file);
    if (text !== undefined && !lines.has(file)) lines.set(file, new FieldLines(text));
    return lines.get(file);
  };
}

function referenceInMesh(input: TextsToAnalyze, kind: string, path: FieldPath): Reference | undefined {
  const given = kind === "MeshConfig" ? input.meshConfig : input.meshNetworks;
  if (given === undefined) return undefined;
  const parsed = parseYaml({ text: given.text, line: 1 });
  return { file: given.file, line: "message" in parsed ? 1 : parsed.lineOf(path) };
}

/** Writes mesh configuration and networks, the defaults where they cannot be used, and returns the configuration. */
function writeMesh(tx: Transaction, input: TextsToAnalyze, problems: Problem[]): MeshConfig {
  const config = readMesh(input.meshConfig, problems, applyMeshConfig) ?? defaultMeshConfig();
  tx.set(meshConfig, meshConfigKey, config);
  const networks = readMesh(input.meshNetworks, problems, readMeshNetworks);
  if (networks !== undefined) tx.set(meshNetworks, meshNetworksKey, networks);
  return config;
}

function readMesh<T>(given: TextFile | undefined, problems: Problem[], read: (document: unknown, report: Report) => T | undefined): T | undefined {
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
