import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { gatewayClassKind, httpRouteKind, inferencePoolKind, kubernetesGatewayKind } from "@istiod/config-schema";
import { inferencePoolServiceName } from "@istiod/gateway-api";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import type { ObjectInput } from "@istiod/kubernetes/testing";
import { EnvoyClient } from "@istiod/xds-server/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { folder, serve } from "./serving.js";
import { runStatus } from "./status-command.js";
import { clusterKinds, startTestCluster } from "./test-clusters.js";

const group = "gateway.networking.k8s.io";
const poolGroup = "inference.networking.k8s.io";
const kinds = [gatewayClassKind, kubernetesGatewayKind, httpRouteKind, inferencePoolKind];
const until = { timeout: 60_000, interval: 50 };

const named = (apiVersion: string, kind: string, name: string, spec: object): ObjectInput => ({
  apiVersion,
  kind,
  metadata: { namespace: "shop", name },
  spec,
});
const pool = (name: string, endpointPickerRef: object = { name: "picker", port: { number: 9002 } }): ObjectInput =>
  named(`${poolGroup}/v1`, "InferencePool", name, {
    selector: { matchLabels: { app: "model" } },
    targetPorts: [{ number: 8000 }],
    endpointPickerRef,
  });
const canary = (object: ObjectInput): ObjectInput => ({
  ...object,
  metadata: { ...object.metadata, labels: { "istio.io/rev": "canary" } },
});
const route = (name: string, to: string): ObjectInput =>
  named(`${group}/v1`, "HTTPRoute", name, {
    parentRefs: [{ name: "front" }],
    rules: [
      {
        matches: [{ path: { value: `/${name}` } }],
        backendRefs: [{ group: poolGroup, kind: "InferencePool", name: to }],
      },
    ],
  });
const picker = named("v1", "Service", "picker", { selector: { app: "picker" }, ports: [{ name: "http", port: 9002 }] });
const gateway = named(`${group}/v1`, "Gateway", "front", {
  gatewayClassName: "istio",
  listeners: [{ name: "http", port: 80, protocol: "HTTP" }],
});
const variables = { ENABLE_GATEWAY_API_INFERENCE_EXTENSION: "true", POD_NAME: "istiod-a" };

/** Connects the proxy of the Gateway. */
async function connect({ addresses }: Awaited<ReturnType<typeof serve>>): Promise<EnvoyClient> {
  const node = create(NodeSchema, {
    id: "router~10.0.0.9~front-istio.shop~shop.svc.cluster.local",
    metadata: {
      NAMESPACE: "shop",
      CLUSTER_ID: "Kubernetes",
      ISTIO_VERSION: "1.27.0",
      LABELS: { [`${group}/gateway-name`]: "front" },
    },
  });
  const address = { host: "127.0.0.1", port: addresses["grpcAddr"]?.port ?? 0 };
  const proxy = new EnvoyClient(address, { variant: "delta", node });
  onTestFinished(() => proxy.close());
  await proxy.initialized();
  return proxy;
}

test.each(clusterKinds)(
  "InferencePools in istiod status and on the status page, with an API server that is %s",
  async (kind) => {
    const cluster = await startTestCluster(kind, { skip: (() => undefined) as never }, undefined, kinds);
    for (const object of [picker, gateway, route("model", "model"), route("lost", "lost"), route("canary", "canary")])
      await cluster.create(object);
    for (const object of [pool("model"), pool("unused"), pool("lost", { name: "nobody", port: { number: 9002 } })])
      await cluster.create(object);
    await cluster.create(canary(pool("canary")));
    await cluster.create(pool("portless", { name: "picker" }));
    const kubeconfig = join(await folder({ kubeconfig: cluster.kubeconfig }), "kubeconfig");
    const istiod = await serve({ kubeconfig }, variables);
    const proxy = await connect(istiod);
    const status = (name: string, ...args: string[]) => runStatus(istiod, `InferencePool/shop/${name}`, ...args);

    // The proxy has the pool by a Service, which istiod writes.
    expect(await status("model", "--wait", "--timeout", "60s")).toEqual({
      exit: 0,
      text: "InferencePool/shop/model: live on 1 of 1 proxy\n",
    });
    await vi.waitFor(async () => {
      await proxy.settled();
      expect(await status("unused")).toEqual({
        exit: 4,
        text: "InferencePool/shop/unused: reaches none of 1 connected proxy\n",
      });
    }, until);
    expect(await status("canary", "--wait", "--timeout", "60s")).toEqual({
      exit: 4,
      text: expect.stringMatching(
        /^InferencePool\/shop\/canary: reaches none of 1 connected proxy: Service\/shop\/canary-ip-\w+, which istiod writes for it, is missing or outdated, and nobody writes it here: the InferencePool belongs to another revision than that of this istiod, default\n$/,
      ) as string,
    });
    expect(await status("portless")).toEqual({
      exit: 3,
      text:
        "InferencePool/shop/portless: not found\n" +
        "error: cluster Kubernetes: InferencePool shop/portless: endpointPickerRef.port.number: is missing, expected a port of the Service\n",
    });
    const lost =
      "parent Gateway shop/front: ResolvedRefs is False with reason InvalidExtensionRef: Referenced ExtensionRef not found nobody";
    expect(await status("lost", "--wait", "--timeout", "60s")).toEqual({
      exit: 4,
      text:
        "InferencePool/shop/lost: has errors, though acknowledged by 1 of 1 proxy\n" +
        `  Error [MESH0063] (InferencePool shop/lost) ${lost}\n`,
    });
    const page = await (await fetch(`${istiod.http}/`)).text();
    expect(page).toContain(lost);
    expect(page).toContain("not attached: no route of a Gateway names it, so that no proxy uses it");
    await vi.waitFor(async () => {
      const read = await cluster.read<{ readonly status?: object }>("InferencePool", "model", "shop");
      expect(read?.status).toMatchObject({ parents: [{ parentRef: { kind: "Gateway", name: "front" } }] });
    }, until);
  },
  240_000,
);

test.each([
  ["without a cluster", false, "this istiod is not connected to a cluster"],
  ["of a pool that the cluster does not have", true, "the InferencePool is not in the cluster"],
])(
  "the Service of an InferencePool, %s, is not waited for",
  async (_, hasCluster, reason) => {
    const files = Object.fromEntries(
      [picker, gateway, route("model", "model"), pool("model")].map((object) => [
        `${object.kind}.yaml`,
        JSON.stringify(object),
      ]),
    );
    const { kubeconfig } = hasCluster
      ? await startTestCluster("in memory", { skip: (() => undefined) as never }, undefined, kinds)
      : { kubeconfig: "" };
    const istiod = await serve(
      {
        configDir: await folder(files),
        ...(hasCluster && { kubeconfig: join(await folder({ kubeconfig }), "kubeconfig") }),
      },
      variables,
    );
    await (await connect(istiod)).settled();
    expect(await runStatus(istiod, "InferencePool/shop/model", "--wait", "--timeout", "60s")).toEqual({
      exit: 4,
      text: `InferencePool/shop/model: reaches none of 1 connected proxy: Service/shop/model-ip-9372c470, which istiod writes for it, is missing or outdated, and nobody writes it here: ${reason}\n`,
    });
  },
  120_000,
);

test("an InferencePool is not waited for if a Service that is not of a pool has the name of its Service", async () => {
  const cluster = await startTestCluster("in memory", { skip: (() => undefined) as never }, undefined, kinds);
  const name = inferencePoolServiceName("model");
  await cluster.create(named("v1", "Service", name, { clusterIP: "None", ports: [{ name: "http", port: 80 }] }));
  for (const object of [picker, gateway, route("model", "model"), pool("model")]) await cluster.create(object);
  const kubeconfig = join(await folder({ kubeconfig: cluster.kubeconfig }), "kubeconfig");
  const istiod = await serve({ kubeconfig }, variables);
  await (await connect(istiod)).settled();
  const { exit, text } = await runStatus(istiod, "InferencePool/shop/model", "--wait", "--timeout", "60s");
  expect(text).toContain(
    `Service/shop/${name}, which istiod writes for it, is missing or outdated, and nobody writes it here: a Service of this name exists that is not of an InferencePool, and istiod leaves it alone\n`,
  );
  expect(exit).toBe(4);
}, 120_000);
