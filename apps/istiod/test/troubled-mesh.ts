import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { type Node, NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { clusterType, routeType } from "@istiod/xds-server";
import { EnvoyClient, XdsClient } from "@istiod/xds-server/testing";
import { onTestFinished, vi } from "vitest";
import { folder, serve } from "./serving.js";

const service = `
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: shop}
spec: {clusterIP: 10.1.0.1, selector: {app: cart}, ports: [{name: http, port: 80, targetPort: 8080}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: cart-1, namespace: shop, labels: {kubernetes.io/service-name: cart}}
addressType: IPv4
endpoints: [{addresses: [10.0.1.1], conditions: {ready: true}}]
ports: [{name: http, port: 8080}]
`;
const virtualService = (timeout: string): string => `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: cart, namespace: shop}
spec:
  hosts: [cart.shop.svc.cluster.local]
  http: [{timeout: ${timeout}, route: [{destination: {host: cart.shop.svc.cluster.local}}]}]
`;

function node(name: string, namespace: string): Node {
  const metadata = { NAMESPACE: namespace, CLUSTER_ID: "Kubernetes", ISTIO_VERSION: "1.27.0", LABELS: { app: name } };
  return create(NodeSchema, { id: `sidecar~10.0.0.9~${name}.${namespace}~${namespace}.svc.cluster.local`, metadata });
}

/** Words of a proxy that end tags and begin others. */
export const refusal = `80: <img src=x onerror="document.title='taken'"> is no such timeout`;

export type Istiod = Awaited<ReturnType<typeof serve>>;

/**
 * An istiod with a proxy that is in sync, one that rejects its routes, one that does not answer, and a file with a
 * VirtualService that is rejected.
 */
export async function troubledMesh(): Promise<{
  readonly istiod: Istiod;
  readonly config: string;
  readonly accept: () => void;
}> {
  const root = await folder({
    "config/cart.yaml": service,
    "config/vs.yaml": virtualService("1s"),
    "config/bad.yaml": virtualService("much").replace("name: cart", "name: bad"),
  });
  const config = join(root, "config");
  const istiod = await serve(
    { configDir: config, caDir: join(root, "ca"), secureGRPCAddr: "127.0.0.1:0", monitoringAddr: "127.0.0.1:0" },
    { POD_NAME: "istiod-7", REVISION: "canary" },
  );
  let rejects = false;
  const at = { host: "127.0.0.1", port: istiod.addresses["grpcAddr"]?.port ?? 0 };
  const good = new EnvoyClient(at, { variant: "delta", node: node("api", "pay") });
  const bad = new EnvoyClient(at, {
    variant: "sotw",
    node: node("web", "shop"),
    reject: ({ typeUrl }) => (rejects && typeUrl === routeType ? refusal : undefined),
  });
  const silent = new XdsClient(at, { variant: "delta", node: node("idle", "shop") });
  for (const proxy of [good, bad, silent]) onTestFinished(() => proxy.close());
  silent.subscribe(clusterType);
  await Promise.all([good.initialized(), bad.initialized(), silent.next(clusterType)]);
  await until(istiod, ({ proxyCounts }) => proxyCounts.synced === 2);
  rejects = true;
  await writeFile(join(config, "vs.yaml"), virtualService("9s"));
  await until(
    istiod,
    ({ proxyCounts, changes }) => proxyCounts.rejected === 1 && changes[0]?.proxiesAcknowledged === 1,
  );
  return { istiod, config, accept: () => void (rejects = false) };
}

/** Fields of the page's JSON that these tests read. */
export interface StatusJson {
  readonly state: string;
  readonly proxyCounts: { readonly rejected: number; readonly synced: number };
  readonly proxies: readonly {
    readonly name: string;
    readonly state: string;
    readonly types: readonly { readonly type: string; readonly state: string }[];
  }[];
  readonly rejections: readonly object[];
  readonly problems: readonly { readonly object: string }[];
  readonly sources: readonly { readonly name: string; readonly state: string; readonly reasons: readonly string[] }[];
  readonly certificates: readonly object[];
  readonly objects: readonly { readonly kind: string; readonly count: number }[];
  readonly changes: readonly {
    readonly objects: readonly string[];
    readonly proxiesAcknowledged: number;
    readonly lastAckMs?: number;
  }[];
}

async function until(istiod: Istiod, condition: (status: StatusJson) => boolean): Promise<void> {
  await vi.waitFor(async () => {
    const status = await statusOf(istiod);
    if (!condition(status)) throw new Error(`not yet: ${JSON.stringify(status.proxyCounts)}`);
  }, 10_000);
}

export async function statusOf({ http }: Istiod): Promise<StatusJson> {
  return (await (await fetch(`${http}/?format=json`)).json()) as StatusJson;
}
