import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { ClusterLoadAssignmentSchema } from "@istiod/envoy-api/envoy/config/endpoint/v3/endpoint";
import { type ApiServer, type ApiServerOptions, type ObjectInput, startApiServer } from "@istiod/kubernetes/testing";
import { expect, onTestFinished, vi } from "vitest";
import { client, decoded, folder, serve } from "./serving.js";

export type Istiod = Awaited<ReturnType<typeof serve>>;

const endpointType = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment";

/** Bound of waiting for a state, generous for slow machines. */
export const until = { timeout: 60_000, interval: 20 };

/** An API server in memory with the Service `cart` and one endpoint of it. */
export async function clusterWithCart(address: string, options: ApiServerOptions = {}): Promise<ApiServer> {
  const server = await startApiServer({ namespaces: ["shop", "istio-system"], bookmarkIntervalMs: 200, ...options });
  onTestFinished(() => server.stop());
  for (const object of cart(address)) await server.objects.create(object);
  return server;
}

/** The Service `cart`, and a slice and a Pod for one address. */
export function cart(address: string): readonly ObjectInput[] {
  const namespace = "shop";
  return [
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "cart", namespace },
      spec: { ports: [{ name: "http", port: 80, protocol: "TCP", targetPort: 8080 }], selector: { app: "cart" } },
    },
    ...endpoint("cart-0", address),
  ];
}

/** A Pod of `cart` that accepts mutual TLS, and its slice. */
export function endpoint(name: string, address: string): readonly ObjectInput[] {
  const namespace = "shop";
  return [
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace, labels: { app: "cart", "security.istio.io/tlsMode": "istio" } },
      spec: { serviceAccountName: "cart", containers: [{ name: "app", image: "app" }] },
      status: {
        phase: "Running",
        podIP: address,
        podIPs: [{ ip: address }],
        conditions: [{ type: "Ready", status: "True" }],
      },
    },
    {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { name, namespace, labels: { "kubernetes.io/service-name": "cart" } },
      addressType: "IPv4",
      ports: [{ name: "http", port: 8080 }],
      endpoints: [{ addresses: [address], conditions: { ready: true }, targetRef: { kind: "Pod", namespace, name } }],
    },
  ];
}

/** A Secret that gives access to clusters, by their kubeconfigs. */
export function remoteSecret(name: string, kubeconfigs: Readonly<Record<string, string>>): ObjectInput {
  const data = Object.entries(kubeconfigs).map(([id, text]) => [id, Buffer.from(text).toString("base64")]);
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace: "istio-system", labels: { "istio/multiCluster": "true" } },
    data: Object.fromEntries(data) as Record<string, string>,
  };
}

export const secretNamed = (name: string) =>
  ({ apiVersion: "v1", kind: "Secret", namespace: "istio-system", name }) as const;

/** The kubeconfig of a server with another token, or with other credentials. */
export function accessTo(
  { url, tokens }: Pick<ApiServer, "url" | "tokens">,
  user: object | string = tokens.admin,
): string {
  return JSON.stringify({
    clusters: [{ name: "remote", cluster: { server: url } }],
    users: [{ name: "reader", user: typeof user === "string" ? { token: user } : user }],
    contexts: [{ name: "remote", context: { cluster: "remote", user: "reader" } }],
    "current-context": "remote",
  });
}

/** Istiod that reads a server's cluster. */
export async function serveCluster(
  server: ApiServer,
  flags: Parameters<typeof serve>[0] = {},
  env: NodeJS.ProcessEnv = {},
): Promise<Istiod> {
  const kubeconfig = join(await folder({ kubeconfig: server.kubeconfig.yaml }), "kubeconfig");
  return serve({ kubeconfig, ...flags }, env);
}

/** The endpoints of `cart` that a proxy is sent. */
export class Endpoints {
  /** The addresses of each response, sorted. */
  readonly seen: (readonly string[])[] = [];

  constructor(istiod: Istiod, metadata: Readonly<Record<string, string>> = {}) {
    const node = create(NodeSchema, {
      id: "sidecar~10.9.0.1~web-0.shop~shop.svc.cluster.local",
      metadata: { CLUSTER_ID: "Kubernetes", NAMESPACE: "shop", ...metadata },
    });
    const proxy = client(istiod, "delta", node);
    proxy.subscribe(endpointType, ["outbound|80||cart.shop.svc.cluster.local"]);
    void (async () => {
      for (;;) {
        const response = await proxy.accept(endpointType);
        for (const assignment of decoded(ClusterLoadAssignmentSchema, response)) this.seen.push(addresses(assignment));
      }
    })().catch(() => undefined);
  }

  /** Waits until the proxy has these. */
  async become(...expected: readonly string[]): Promise<void> {
    await vi.waitFor(() => expect(this.seen.at(-1)).toEqual([...expected].sort()), until);
  }
}

function addresses({ endpoints }: { endpoints: readonly { lbEndpoints: readonly unknown[] }[] }): readonly string[] {
  const hosts = endpoints.flatMap(({ lbEndpoints }) => lbEndpoints) as readonly {
    hostIdentifier: {
      value: { address: { address: { value: { address: string; portSpecifier: { value: number } } } } };
    };
  }[];
  return hosts
    .map(({ hostIdentifier }) => hostIdentifier.value.address.address.value)
    .map(({ address, portSpecifier }) => `${address}:${portSpecifier.value}`)
    .sort();
}

export interface ClusterLine {
  readonly id: string;
  readonly secretName: string;
  readonly syncStatus: string;
  readonly reason?: string;
}

export async function clusterz({ http }: Istiod): Promise<readonly ClusterLine[]> {
  return (await (await fetch(`${http}/debug/clusterz`)).json()) as readonly ClusterLine[];
}

/** Lines of the metrics with a name. */
export async function series({ http }: Istiod, name: string): Promise<readonly string[]> {
  const text = await (await fetch(`${http}/metrics`)).text();
  return text.split("\n").filter((line) => line.startsWith(`${name}{`));
}
