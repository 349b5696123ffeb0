import { meshConfig } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import { type MeshConfig, MeshConfigSchema } from "@istiod/istio-api/mesh/v1alpha1/config";

type MeshField = Exclude<keyof MeshConfig & string, `$${string}`>;

/**
 * The settings of the mesh. Each property is read when it is used, so a change of one setting does not touch the
 * readers of others.
 */
export type Mesh = Readonly<Pick<MeshConfig, MeshField>>;

/**
 * The settings of the mesh, with the defaults of MeshConfig where none is given. Reading one throws where no
 * configuration was committed.
 */
export function mesh(q: QueryContext): Mesh {
  return new Settings(q) as unknown as Mesh;
}

/** The namespace whose objects apply to the whole mesh. */
export function rootNamespace(q: QueryContext): string {
  return mesh(q).rootNamespace;
}

const setting = query("mesh.setting", (q, name: string): unknown => {
  const config = q.read(meshConfig, "mesh");
  if (config === undefined) throw new Error('no mesh configuration: the input meshConfig has no entry "mesh"');
  return config[name as MeshField];
});

/** An object with a getter for each setting. */
class Settings {
  readonly #q: QueryContext;

  constructor(q: QueryContext) {
    this.#q = q;
  }

  static {
    for (const name of new Set(MeshConfigSchema.fields.map((field) => field.oneof?.localName ?? field.localName))) {
      Object.defineProperty(this.prototype, name, {
        get(this: Settings) {
          return this.#q.call(setting, name);
        },
      });
    }
  }
}
