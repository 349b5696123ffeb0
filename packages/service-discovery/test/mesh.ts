import {
  environment,
  meshConfig,
  meshConfigKey,
  meshNetworks,
  meshNetworksKey,
  readText,
  setObjects,
} from "@istiod/config-schema";
import { Database, type Query } from "@istiod/incremental";
import { create } from "@bufbuild/protobuf";
import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { MeshConfigSchema } from "@istiod/istio-api/mesh/v1alpha1/config";
import { MeshNetworksSchema } from "@istiod/istio-api/mesh/v1alpha1/network";

/** A mesh built from YAML, with methods to edit and query it. */
export class Mesh {
  readonly db = new Database<undefined>();
  readonly #view = this.db.view(undefined);

  constructor(yaml = "") {
    this.db.commit((tx) =>
      tx.set(meshConfig, meshConfigKey, create(MeshConfigSchema, { trustDomain: "cluster.local" })),
    );
    this.apply(yaml);
  }

  /** Adds or replaces objects. Throws if a document is rejected. */
  apply(yaml: string, cluster = "Kubernetes"): this {
    const readings = readText(yaml, "mesh.yaml", { cluster });
    const problems = readings.flatMap((reading) => reading.problems).filter(({ severity }) => severity === "error");
    if (problems.length > 0) throw new Error(JSON.stringify(problems));
    this.db.commit((tx) =>
      setObjects(
        tx,
        readings.flatMap((reading) => reading.objects),
      ),
    );
    return this;
  }

  /** Removes the objects of a YAML text. */
  remove(yaml: string, cluster = "Kubernetes"): this {
    const objects = readText(yaml, "mesh.yaml", { cluster }).flatMap((reading) => reading.objects);
    this.db.commit((tx) => {
      for (const { kind, key } of objects) tx.delete(kind.collection, key);
    });
    return this;
  }

  meshConfig(json: JsonValue): this {
    this.db.commit((tx) => tx.set(meshConfig, meshConfigKey, fromJson(MeshConfigSchema, json)));
    return this;
  }

  networks(json: JsonValue): this {
    this.db.commit((tx) => tx.set(meshNetworks, meshNetworksKey, fromJson(MeshNetworksSchema, json)));
    return this;
  }

  set(variable: string, value: string): this {
    this.db.commit((tx) => tx.set(environment, variable, value));
    return this;
  }

  ask<R>(query: Query<void, R>): R;
  ask<A, R>(query: Query<A, R>, arg: A): R;
  ask<A, R>(query: Query<A, R>, arg?: A): R {
    return this.#view.call(query, arg as A);
  }
}

/** A Service with HTTP port 80 and target port 8080, and further lines of YAML for its metadata and spec. */
export function serviceYaml(
  name: string,
  options: { ns?: string; spec?: string; metadata?: string; ip?: string; created?: string } = {},
): string {
  const { ns = "shop", spec = "", metadata = "", ip = "10.0.0.1", created = "2024-01-01T00:00:00Z" } = options;
  return `---
apiVersion: v1
kind: Service
metadata: {name: ${name}, namespace: ${ns}, creationTimestamp: "${created}"${metadata && `, ${metadata}`}}
spec: {clusterIP: ${ip}, selector: {app: ${name}}, ports: [{name: http, port: 80, targetPort: 8080}]${spec && `, ${spec}`}}
`;
}

/** A ready pod. */
export function podYaml(
  name: string,
  ip: string,
  options: { ns?: string; labels?: string; node?: string; spec?: string; ready?: boolean } = {},
): string {
  const { ns = "shop", labels = "app: cart", node = "", spec = "", ready = true } = options;
  return `---
apiVersion: v1
kind: Pod
metadata: {name: ${name}, namespace: ${ns}, labels: {${labels}}}
spec: {serviceAccountName: cart, nodeName: "${node}"${spec && `, ${spec}`}, containers: [{name: app, ports: [{name: web, containerPort: 8080, protocol: TCP}]}]}
status: {phase: Running, podIP: ${ip}, podIPs: [{ip: ${ip}}], conditions: [{type: Ready, status: "${ready ? "True" : "False"}"}]}
`;
}

/**
 * An EndpointSlice of the Service `cart` unless said otherwise, with one endpoint an entry: pod name, address,
 * conditions.
 */
export function sliceYaml(
  name: string,
  endpoints: readonly { pod?: string; ip: string; conditions?: string }[],
  options: { ns?: string; service?: string; addressType?: string; ports?: string } = {},
): string {
  const { ns = "shop", service = "cart", addressType = "IPv4", ports = "{name: http, port: 8080}" } = options;
  return `---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: ${name}, namespace: ${ns}, labels: {kubernetes.io/service-name: ${service}}}
addressType: ${addressType}
ports: [${ports}]
endpoints:
${endpoints
  .map(({ pod, ip, conditions = "ready: true, serving: true, terminating: false" }) => {
    const target = pod === undefined ? "" : `, targetRef: {kind: Pod, namespace: ${ns}, name: ${pod}}`;
    return `- {addresses: ["${ip}"], conditions: {${conditions}}${target}}`;
  })
  .join("\n")}
`;
}
