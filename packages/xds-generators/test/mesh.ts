import { createRegistry, fromBinary, type JsonObject, toJson } from "@bufbuild/protobuf";
import { YamlMesh } from "@istiod/config-schema/testing";
import { registry as envoy } from "@istiod/envoy-api/registry";
import type { View } from "@istiod/incremental";
import { registry as istio } from "@istiod/istio-api/registry";
import { type Node, type Proxy, proxyFromNode, type VerifiedIdentity } from "@istiod/push-context";
import type { Resource, ResourceSet } from "@istiod/resources";
import { generators } from "../src/index.js";

export const clusterType = "envoy.config.cluster.v3.Cluster";

/** A mesh defined in YAML, and proxies that request its resources. */
export class TestMesh extends YamlMesh<Proxy> {
  proxy(options: ProxyOptions = {}): TestProxy {
    const { identity } = options;
    return new TestProxy(
      this.db.view({ ...proxyFromNode(node(options)), ...(identity && { verifiedIdentity: identity }) }),
    );
  }
}

export interface ProxyOptions {
  readonly type?: "sidecar" | "router" | "waypoint" | "ztunnel";
  readonly namespace?: string;
  readonly name?: string;
  readonly ip?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly metadata?: JsonObject;
  readonly extensions?: readonly string[];
  readonly envoyVersion?: readonly [major: number, minor: number];
  /** Default: the proxy is not authenticated. */
  readonly identity?: VerifiedIdentity | undefined;
  readonly locality?: { readonly region: string; readonly zone: string; readonly subzone: string };
}

/** A proxy and its resources. */
export class TestProxy {
  constructor(readonly view: View<Proxy>) {}

  set(type: string): ResourceSet {
    const generator = generators[`type.googleapis.com/${type}`];
    if (generator === undefined) throw new Error(`no generator of ${type}`);
    return this.view.call(generator);
  }

  /** Returns a resource; throws if it does not exist. */
  resource(type: string, name: string): Resource {
    const found = this.set(type).get(name);
    if (found === undefined) throw new Error(`no ${name} among ${this.names(type).join(", ")}`);
    return found;
  }

  has(type: string, name: string): boolean {
    return this.set(type).get(name) !== undefined;
  }

  names(type: string): string[] {
    return [...this.set(type)].map((resource) => resource.name).sort();
  }

  /** Returns a resource as JSON with unpacked `Any` messages; throws if it does not exist. */
  json(type: string, name: string): Json {
    return decoded(type, this.resource(type, name).bytes);
  }

  cluster(name: string): Json {
    return this.json(clusterType, name);
  }
}

/** JSON that tests may access without narrowing. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Json = any;

/** All messages that may be packed in an `Any`. */
const registry = createRegistry(...envoy, ...istio);

function decoded(type: string, bytes: Uint8Array): Json {
  const schema = registry.getMessage(type);
  if (schema === undefined) throw new Error(`no message type ${type}`);
  return toJson(schema, fromBinary(schema, bytes), { registry });
}

function node({
  type = "sidecar",
  namespace = "shop",
  name = "web",
  ip = "10.1.0.1",
  labels = {},
  metadata = {},
  extensions,
  envoyVersion,
  locality,
}: ProxyOptions): Node {
  return {
    id: `${type}~${ip}~${name}.${namespace}~${namespace}.svc.cluster.local`,
    metadata: {
      NAMESPACE: namespace,
      LABELS: { ...labels },
      CLUSTER_ID: "Kubernetes",
      ISTIO_VERSION: "1.29.0",
      INSTANCE_IPS: ip,
      ...metadata,
    },
    ...(extensions && { extensions }),
    ...(envoyVersion && { envoyVersion }),
    ...(locality && { locality }),
  };
}
