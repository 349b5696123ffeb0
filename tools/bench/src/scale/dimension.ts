import type { KubernetesObject } from "../mesh/objects.js";
import type { ProxyPlace } from "../mesh/proxies.js";
import type { HeldConfig } from "./held-config.js";

/** A number of a mesh that grows alone, such as the endpoints of one service. */
export interface Dimension {
  readonly name: string;
  /** The things that are counted, for the table. */
  readonly counts: string;
  /** Increasing sizes. The largest is ten times what large meshes have, or more. */
  readonly sizes: readonly number[];
  /** Sizes of the test that runs in CI. */
  readonly smallSizes: readonly number[];
  /** Largest size that is read from an API server as well. Default: none. */
  readonly fromCluster?: number;
  /** Largest size that is offered to a real Envoy. Default: all. */
  readonly toEnvoy?: number;
  /** The proxy gets secrets, for which it must be authenticated. Default: false. */
  readonly hasSecrets?: boolean;
  mesh(size: number): ScaleMesh | Promise<ScaleMesh>;
}

/** A mesh of one size, a change of one object, and what a proxy must have before and after it. */
export interface ScaleMesh {
  readonly objects: readonly KubernetesObject[];
  /** Objects that an API server has besides: permissions of the proxy. */
  readonly permissions?: readonly KubernetesObject[];
  /** Objects of further clusters, by their IDs. */
  readonly clusters?: ReadonlyMap<string, readonly KubernetesObject[]>;
  /** The mesh's networks, as of `--networksConfig`. */
  readonly networks?: object;
  readonly proxy: ProxyPlace;
  /** Number of further proxies, equal to the first one except for their names. Default: 0. */
  readonly furtherProxies?: number;
  /** One of the objects, changed. */
  readonly change: KubernetesObject;
  /** Names of secrets to subscribe to. */
  readonly secrets?: readonly string[];
  /** Returns the part of the configuration that grows, as strings. */
  read(config: HeldConfig): readonly string[];
  readonly expected: readonly string[];
  readonly expectedAfterChange: readonly string[];
}
