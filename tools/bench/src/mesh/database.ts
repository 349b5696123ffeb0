import {
  applyMeshConfig,
  decode,
  type LocatedObject,
  meshConfig,
  meshConfigKey,
  meshNetworks,
  meshNetworksKey,
  readMeshNetworks,
  type Report,
  setObjects,
} from "@istiod/config-schema";
import { Database } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";
import type { KubernetesObject } from "./objects.js";

/** Returns a database with objects and the default mesh configuration. */
export function meshDatabase(objects: readonly KubernetesObject[]): Database<Proxy> {
  const database = new Database<Proxy>();
  database.commit((tx) => {
    tx.set(meshConfig, meshConfigKey, required(applyMeshConfig({}, strict)));
    tx.set(meshNetworks, meshNetworksKey, required(readMeshNetworks({}, strict)));
    setObjects(tx, located(objects));
  });
  return database;
}

/**
 * Decodes objects.
 *
 * @throws Error if one is not accepted
 */
export function located(objects: readonly KubernetesObject[]): LocatedObject[] {
  return objects.flatMap((o) =>
    decode(o).map((d) => {
      if (d.outcome !== "accepted") throw new Error(`${JSON.stringify(o)} was ${d.outcome}`);
      return { kind: d.kind, key: d.key, object: d.object } as LocatedObject;
    }),
  );
}

/** @throws Error if there is no value */
export function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("refused without a reason");
  return value;
}

const strict: Report = {
  warning: () => undefined,
  error: (path, message) => {
    throw new Error(`${path.join(".")}: ${message}`);
  },
};
