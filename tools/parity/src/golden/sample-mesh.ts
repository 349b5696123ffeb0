import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { applyMeshConfig, formatProblem, meshConfig, meshConfigKey, readText, setObjects } from "@istiod/config-schema";
import { Database } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";

/** A YAML file of a sample. */
export interface SampleFile {
  /** Path of the file. */
  readonly file: string;
  readonly text: string;
}

/** Returns the YAML files of a sample's folder, sorted by name. */
export function sampleFiles(folder: string): readonly SampleFile[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".yaml"))
    .sort()
    .map((name) => join(folder, name))
    .map((file) => ({ file, text: readFileSync(file, "utf8") }));
}

/**
 * Loads a sample into a database of its own.
 *
 * @param config mesh configuration, merged into Istio's defaults
 * @throws Error with file and line of objects that validation rejects
 */
export function loadSample(folder: string, config: JsonObject = {}): Database<Proxy> {
  const readings = sampleFiles(folder).flatMap(({ file, text }) => readText(text, file));
  const errors = readings.flatMap(({ problems }) => problems).filter(({ severity }) => severity === "error");
  if (errors.length > 0) throw new Error(errors.map(formatProblem).join("\n"));
  const database = new Database<Proxy>();
  database.commit((tx) => {
    tx.set(meshConfig, meshConfigKey, readMeshConfig(config));
    for (const { objects } of readings) setObjects(tx, objects);
  });
  return database;
}

function readMeshConfig(config: JsonObject): NonNullable<ReturnType<typeof applyMeshConfig>> {
  const fail = (path: readonly unknown[], message: string): never => {
    throw new Error(`mesh configuration: ${path.join(".")}: ${message}`);
  };
  return applyMeshConfig(config, { warning: fail, error: fail }) ?? fail([], "rejected");
}
