import { findings } from "@istiod/analysis";
import { applyChanges, defaultMeshConfig, meshConfig, meshConfigKey, readText } from "@istiod/config-schema";
import { Database, type View } from "@istiod/incremental";

/** A mesh that is analyzed again after each change. */
class AnalyzedMesh {
  readonly database = new Database<undefined>();
  readonly #view: View<undefined> = this.database.view(undefined);

  constructor(objects: readonly string[]) {
    this.database.commit((tx) => tx.set(meshConfig, meshConfigKey, defaultMeshConfig()));
    this.apply(objects.join("\n---\n"));
  }

  apply(text: string): void {
    const changes = readText(text, "in.yaml").flatMap(({ objects }) => objects);
    this.database.commit((tx) => applyChanges(tx, changes));
    this.#view.call(findings);
  }
}

/** Returns the number of queries that a change recomputes when a mesh is analyzed again. */
export function recomputedBy(change: string, objects: readonly string[]): number {
  const mesh = new AnalyzedMesh(objects);
  const before = mesh.database.stats().recomputations;
  mesh.apply(change);
  return mesh.database.stats().recomputations - before;
}

/** Returns the number of dependencies that the analysis of a mesh records. */
export function dependenciesOf(objects: readonly string[]): number {
  return new AnalyzedMesh(objects).database.stats().edges;
}
