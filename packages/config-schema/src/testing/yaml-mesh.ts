import type { JsonValue } from "@bufbuild/protobuf";
import { Database } from "@istiod/incremental";
import { environment } from "../mesh/environment.js";
import { readText } from "../manifests/read-text.js";
import { applyMeshConfig, meshConfig, meshConfigKey } from "../mesh/mesh-config.js";
import { commitYaml } from "./commit-yaml.js";

/** A mesh defined in YAML, for tests. What validation rejects is an error. */
export class YamlMesh<Client> {
  readonly db = new Database<Client>();

  /** @param config mesh configuration, merged into Istio's defaults */
  constructor(yaml = "", config: JsonValue = {}) {
    this.configure(config).apply(yaml);
  }

  /** Adds or replaces objects. */
  apply(yaml: string): this {
    commitYaml(this.db, yaml);
    return this;
  }

  remove(yaml: string): this {
    const objects = readText(yaml, "test.yaml").flatMap((reading) => reading.objects);
    this.db.commit((tx) => {
      for (const { kind, key } of objects) tx.delete(kind.collection, key);
    });
    return this;
  }

  /** Replaces the mesh configuration. */
  configure(config: JsonValue): this {
    const error = (path: readonly unknown[], message: string): never => {
      throw new Error(`mesh configuration: ${path.join(".")}: ${message}`);
    };
    const mesh = applyMeshConfig(config, { warning: () => undefined, error }) ?? error([], "rejected");
    this.db.commit((tx) => tx.set(meshConfig, meshConfigKey, mesh));
    return this;
  }

  /** Sets an environment variable of istiod. */
  set(variable: string, value: string): this {
    this.db.commit((tx) => tx.set(environment, variable, value));
    return this;
  }
}
