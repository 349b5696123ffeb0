import { join } from "node:path";
import { create, fromBinary } from "@bufbuild/protobuf";
import { Code, type ConnectError } from "@connectrpc/connect";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { ResourceSchema } from "@istiod/istio-api/mcp/v1alpha1/resource";
import type { Variant } from "@istiod/xds-server";
import { XdsClient } from "@istiod/xds-server/testing";
import { writeFile } from "node:fs/promises";
import { afterEach, describe, expect, it } from "vitest";
import { folder, serve } from "./serving.js";

const type = "networking.istio.io/v1/VirtualService";
const entryType = "networking.istio.io/v1/ServiceEntry";
const virtualService = (name: string, host: string): string =>
  `{apiVersion: networking.istio.io/v1, kind: VirtualService, metadata: {name: ${name}, namespace: shop}, ` +
  `spec: {hosts: [${name}], http: [{route: [{destination: {host: ${host}}}]}]}}`;

const ends: (() => unknown)[] = [];
afterEach(() => ends.splice(0).forEach((end) => end()));

async function mesh(env: NodeJS.ProcessEnv = {}) {
  const root = await folder({
    "config/cart.yaml": virtualService("cart", "cart"),
    "config/web.yaml": virtualService("web", "web"),
    "config/service.yaml":
      "{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {clusterIP: 10.0.0.1, ports: [{name: http, port: 80}]}}",
    "tokens/istio-system/istiod": "token-of-a-control-plane",
    "tokens/shop/web": "token-of-the-web-proxy",
  });
  const istiod = await serve(
    {
      configDir: join(root, "config"),
      caDir: join(root, "ca"),
      tokensDir: join(root, "tokens"),
      secureGRPCAddr: "127.0.0.1:0",
    },
    env,
  );
  return {
    write: (name: string, host: string) => writeFile(join(root, `config/${name}.yaml`), virtualService(name, host)),
    client(variant: Variant, namespace: string, token?: string): XdsClient {
      const port = (flag: string): number => istiod.addresses[flag]?.port ?? 0;
      const address =
        token === undefined
          ? { host: "127.0.0.1", port: port("grpcAddr") }
          : { host: "127.0.0.1", port: port("secureGRPCAddr"), tls: { rejectUnauthorized: false } };
      const client = new XdsClient(address, {
        variant,
        node: create(NodeSchema, {
          id: `sidecar~10.0.0.9~istiod.${namespace}~${namespace}.svc.cluster.local`,
          metadata: { NAMESPACE: namespace, GENERATOR: "api" },
        }),
        ...(token !== undefined && { headers: { authorization: `Bearer ${token}` } }),
      });
      ends.push(() => client.close());
      return client;
    },
  };
}

describe.each(["delta", "sotw"] as const)("on %s", (variant) => {
  it("a control plane receives the configuration objects, and then the edits", async () => {
    const { client, write } = await mesh();
    const other = client(variant, "istio-system", "token-of-a-control-plane");
    other.subscribe(type);
    const first = await other.accept(type);
    expect(first.resources.map(({ typeUrl }) => typeUrl)).toEqual([
      "type.googleapis.com/istio.mcp.v1alpha1.Resource",
      "type.googleapis.com/istio.mcp.v1alpha1.Resource",
    ]);
    const names = (bytes: Uint8Array): string | undefined => fromBinary(ResourceSchema, bytes).metadata?.name;
    expect(first.resources.map(({ bytes }) => names(bytes))).toEqual(["shop/cart", "shop/web"]);
    await write("web", "elsewhere");
    const second = await other.accept(type);
    expect(second.resources.map(({ bytes }) => names(bytes))).toEqual(
      variant === "delta" ? ["shop/web"] : ["shop/cart", "shop/web"],
    );
  });

  it("a control plane receives the Services as synthetic ServiceEntries", async () => {
    const other = (await mesh()).client(variant, "istio-system", "token-of-a-control-plane");
    other.subscribe(entryType);
    const [entry, ...more] = (await other.accept(entryType)).resources;
    expect(more).toEqual([]);
    expect(fromBinary(ResourceSchema, entry?.bytes ?? new Uint8Array())).toMatchObject({
      metadata: { name: "shop/synthetic-cart" },
      body: { typeUrl: "type.googleapis.com/istio.networking.v1alpha3.ServiceEntry" },
    });
  });

  it.each([type, entryType])("a workload of another namespace is denied %s", async (denied) => {
    const { client } = await mesh();
    const workload = client(variant, "shop", "token-of-the-web-proxy");
    workload.subscribe(denied);
    expect((await workload.ended) as ConnectError).toMatchObject({
      code: Code.PermissionDenied,
      rawMessage: "configuration objects are served to callers of namespace istio-system only, the caller is of shop",
    });
  });

  it("a caller of the plaintext port is denied, unless ENABLE_XDS_API_GENERATOR_AUTH is false", async () => {
    const closed = (await mesh()).client(variant, "istio-system");
    closed.subscribe(type);
    expect((await closed.ended) as ConnectError).toMatchObject({ code: Code.Unauthenticated });
    const open = (await mesh({ ENABLE_XDS_API_GENERATOR_AUTH: "false" })).client(variant, "istio-system");
    open.subscribe(type);
    expect((await open.accept(type)).resources).toHaveLength(2);
  });
});
