import type { Commit, Database } from "@istiod/incremental";
import type { DecodeOptions } from "../decoding/decode.js";
import { formatProblem } from "../manifests/problem.js";
import { readText } from "../manifests/read-text.js";
import { setObjects } from "../object-change.js";

/**
 * Commits the objects of a YAML text.
 *
 * @throws Error that lists the objects that validation rejects
 */
export function commitYaml<C>(database: Database<C>, yaml: string, options: DecodeOptions = {}): Commit {
  const readings = readText(yaml, "test.yaml", options);
  const errors = readings.flatMap((r) => r.problems).filter((p) => p.severity === "error");
  if (errors.length > 0) throw new Error(errors.map(formatProblem).join("\n"));
  return database.commit((tx) => {
    for (const { objects } of readings) setObjects(tx, objects);
  });
}
