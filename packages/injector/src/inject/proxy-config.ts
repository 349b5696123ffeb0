import { toJson } from "@bufbuild/protobuf";
import {
  defaultProxyConfig,
  mergeProxyConfig,
  type ProxyConfigObject,
  readProxyConfigAnnotation,
} from "@istiod/config-schema";
import { create } from "@bufbuild/protobuf";
import type { MeshConfig } from "@istiod/istio-api/mesh/v1alpha1/config";
import { type ProxyConfig, ProxyConfigSchema } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import type { JsonObject } from "../go-types/json.js";
import { proxyConfigAnnotation } from "../pod-fields.js";

/** A workload, as ProxyConfig objects select it. */
export interface ProxyConfigTarget {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/**
 * Returns the proxy configuration of a workload: Istio's defaults, then the mesh's, the ProxyConfig objects of the root
 * namespace and of its own namespace, the annotation `proxy.istio.io/config`, and the ProxyConfig object that selects
 * it. Of several objects the oldest applies. A malformed annotation is ignored, because injection refuses it anyway
 * (pilot/pkg/model/proxy_config.go, `EffectiveProxyConfig`).
 */
export function effectiveProxyConfig(
  mesh: MeshConfig,
  objects: readonly ProxyConfigObject[],
  { namespace, labels, annotations }: ProxyConfigTarget,
): ProxyConfig {
  const sorted = [...objects].sort((a, b) => a.creationTimestamp - b.creationTimestamp || compareKeys(a, b));
  const ofNamespace = (name: string): ProxyConfig | undefined =>
    specOf(sorted.find((object) => object.namespace === name && !hasSelector(object)));
  const selecting = sorted.find(({ namespace: own, spec }) => {
    const selector = Object.entries(spec.selector?.matchLabels ?? {});
    return own === namespace && selector.length > 0 && selector.every(([name, value]) => labels[name] === value);
  });
  const layers = [
    mesh.defaultConfig,
    mesh.rootNamespace === "" ? undefined : ofNamespace(mesh.rootNamespace),
    namespace === mesh.rootNamespace ? undefined : ofNamespace(namespace),
    readAnnotation(annotations[proxyConfigAnnotation]),
    specOf(selecting),
  ];
  return layers.reduce<ProxyConfig>(
    (merged, layer) => (layer === undefined ? merged : mergeProxyConfig(merged, layer, fieldsOf(layer))),
    defaultProxyConfig(),
  );
}

/** Reports whether an object is limited to some workloads. A selector without labels selects all of the namespace. */
function hasSelector({ spec }: ProxyConfigObject): boolean {
  return Object.keys(spec.selector?.matchLabels ?? {}).length > 0;
}

function readAnnotation(value: string | undefined): ProxyConfig | undefined {
  return value === undefined
    ? undefined
    : readProxyConfigAnnotation(value, { error: () => undefined, warning: () => undefined });
}

/** Returns the part of a proxy configuration that a ProxyConfig object sets. */
function specOf(object: ProxyConfigObject | undefined): ProxyConfig | undefined {
  if (object === undefined) return undefined;
  const { concurrency, environmentVariables, image } = object.spec;
  return create(ProxyConfigSchema, {
    ...(concurrency !== undefined && { concurrency }),
    ...(image !== undefined && { image }),
    proxyMetadata: environmentVariables,
  });
}

const fieldsOf = (config: ProxyConfig): JsonObject => toJson(ProxyConfigSchema, config) as JsonObject;

const compareKeys = (a: ProxyConfigObject, b: ProxyConfigObject): number =>
  `${a.namespace}/${a.name}` < `${b.namespace}/${b.name}` ? -1 : 1;
