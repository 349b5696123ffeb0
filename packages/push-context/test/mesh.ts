import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { YamlMesh } from "@istiod/config-schema/testing";
import type { Query, View } from "@istiod/incremental";
import { type Proxy, proxyFromNode } from "../src/index.js";

/** A mesh built from YAML, and clients that query it. */
export class TestMesh extends YamlMesh<Proxy> {
  client(options: ClientOptions = {}): Client {
    return new Client(this.db.view(proxy(options)));
  }
}

export interface ClientOptions {
  readonly type?: "sidecar" | "router" | "waypoint";
  readonly namespace?: string;
  readonly name?: string;
  readonly ip?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly metadata?: JsonObject;
}

/** One proxy's view of the mesh. */
export class Client {
  constructor(readonly view: View<Proxy>) {}

  ask<R>(query: Query<void, R>): R;
  ask<A, R>(query: Query<A, R>, arg: A): R;
  ask<A, R>(query: Query<A, R>, arg?: A): R {
    return this.view.call(query, arg as A);
  }
}

export function proxy({
  type = "sidecar",
  namespace = "shop",
  name = "web",
  ip = "10.1.0.1",
  labels = {},
  metadata = {},
}: ClientOptions): Proxy {
  return proxyFromNode({
    id: `${type}~${ip}~${name}.${namespace}~${namespace}.svc.cluster.local`,
    metadata: { NAMESPACE: namespace, LABELS: { ...labels }, CLUSTER_ID: "Kubernetes", ...metadata },
  });
}

/** A DestinationRule; `created` is a day of January 2024. */
export function rule(name: string, namespace: string, spec: JsonValue, created = 1): string {
  const day = String(created).padStart(2, "0");
  return `---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: ${name}, namespace: ${namespace}, creationTimestamp: "2024-01-${day}T00:00:00Z"}
spec: ${JSON.stringify(spec)}
`;
}
