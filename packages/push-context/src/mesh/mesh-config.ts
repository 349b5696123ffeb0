import { meshConfig } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import { type MeshConfig, MeshConfigSchema } from "@istiod/istio-api/mesh/v1alpha1/config";

type MeshField = Exclude<keyof MeshConfig & string, `$${string}`>;

/**
 * MeshConfig with each field read as its own query, so that a change of one field does not invalidate readers of
 * others.
 */
export type Mesh = Readonly<Pick<MeshConfig, MeshField>>;

/** Returns MeshConfig with its defaults applied. Reading a field throws if no mesh configuration was committed. */
export function mesh(q: QueryContext): Mesh {
  return new Settings(q) as unknown as Mesh;
}

/** Returns the namespace whose objects apply to the whole mesh. */
export function rootNamespace(q: QueryContext): string {
  return mesh(q).rootNamespace;
}

const setting = query("mesh.setting", (q, name: string): unknown => {
  const config = q.read(meshConfig, "mesh");
  if (config === undefined) throw new Error('no mesh configuration: the input meshConfig has no entry "mesh"');
  return config[name as MeshField];
});

/** Has a getter for each field of MeshConfig. */
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
