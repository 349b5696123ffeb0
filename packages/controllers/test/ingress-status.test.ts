import { ingressStatusController } from "@istiod/controllers";
import { MeshConfig_IngressControllerMode as Mode } from "@istiod/istio-api/mesh/v1alpha1/config";
import { expect, it } from "vitest";
import { eventually, type Changeable, meshSettings, testCluster, type TestCluster } from "./support/cluster.js";

const strict = { ingressControllerMode: Mode.STRICT, ingressClass: "istio" };
const ingress = (name: string, fields: { readonly annotation?: string; readonly labels?: Record<string, string> }) => ({
  apiVersion: "networking.k8s.io/v1",
  kind: "Ingress",
  metadata: {
    namespace: "shop",
    name,
    labels: fields.labels ?? {},
    ...(fields.annotation && { annotations: { "kubernetes.io/ingress.class": fields.annotation } }),
  },
  spec: { rules: [] },
});
const service = (loadBalancer: readonly object[], externalIPs: readonly string[] = []) => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { namespace: "istio-system", name: "gateway" },
  spec: { type: "LoadBalancer", ports: [{ port: 80 }], externalIPs },
  status: { loadBalancer: { ingress: loadBalancer } },
});

const statusOf = ({ server }: TestCluster, name: string): unknown =>
  (
    server.objects.get({ apiVersion: "networking.k8s.io/v1", kind: "Ingress", namespace: "shop", name })?.["status"] as
      | { readonly loadBalancer?: { readonly ingress?: unknown } }
      | undefined
  )?.loadBalancer?.ingress;

async function start(mesh: Changeable<ReturnType<ReturnType<typeof meshSettings>["current"]>>) {
  const cluster = await testCluster({ namespaces: ["shop", "istio-system"] });
  const options = { mesh, revision: "canary", systemNamespace: "istio-system" };
  await cluster.server.objects.create({
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
    metadata: { name: "istio-revision-tag-default", labels: { "istio.io/tag": "default", "istio.io/rev": "canary" } },
    webhooks: [],
  });
  return { cluster, run: () => cluster.run(ingressStatusController(options)) };
}

it("an Ingress of the mesh has the addresses of the ingress service, and follows them", async () => {
  const { cluster, run } = await start(meshSettings({ ...strict, ingressService: "gateway" }));
  const { objects } = cluster.server;
  const created = service(
    [{ hostname: "b.example.com" }, { hostname: "a.example.com" }, { ip: "192.0.2.9" }],
    ["192.0.2.1"],
  );
  await objects.create(created);
  await objects.updateStatus(created);
  await objects.create(ingress("served", { annotation: "istio" }));
  await objects.create(ingress("other-class", { annotation: "nginx" }));
  await objects.create(ingress("no-class", {}));
  await objects.create(ingress("other-revision", { annotation: "istio", labels: { "istio.io/rev": "stable" } }));
  const first = run();
  await eventually(() =>
    expect(statusOf(cluster, "served")).toEqual([
      { ip: "192.0.2.1" },
      { ip: "192.0.2.9" },
      { hostname: "a.example.com" },
      { hostname: "b.example.com" },
    ]),
  );
  await objects.updateStatus(service([{ ip: "192.0.2.7" }]));
  await objects.apply({ ...service([]), spec: { externalIPs: [] } });
  await eventually(() => expect(statusOf(cluster, "served")).toContainEqual({ ip: "192.0.2.7" }));
  const writes = cluster.writes().length;
  first.stop();
  run();
  await objects.create(ingress("later", { annotation: "istio" }));
  await eventually(() => expect(statusOf(cluster, "later")).toBeDefined());
  const path = "PATCH /apis/networking.k8s.io/v1/namespaces/shop/ingresses";
  expect(cluster.writes().slice(writes)).toEqual([`${path}/later/status`]);
  expect(new Set(cluster.writes())).toEqual(new Set([`${path}/served/status`, `${path}/later/status`]));
});

it("without an ingress service, the addresses are those of the node of a running gateway", async () => {
  const mesh = meshSettings({ ...strict, ingressControllerMode: Mode.DEFAULT });
  const { cluster, run } = await start(mesh);
  const { objects } = cluster.server;
  const node = {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "n1" },
    status: {
      addresses: [
        { type: "InternalIP", address: "10.0.0.1" },
        { type: "ExternalIP", address: "192.0.2.5" },
      ],
    },
  };
  await objects.create(node);
  await objects.updateStatus(node);
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace: "istio-system", name: "gateway", labels: { istio: "ingressgateway" } },
    spec: { nodeName: "n1", containers: [{ name: "istio-proxy", image: "proxyv2" }] },
    status: { phase: "Running" },
  };
  await objects.create(pod);
  await objects.create(ingress("no-class", {}));
  run();
  await objects.updateStatus(pod);
  await eventually(() => expect(statusOf(cluster, "no-class")).toEqual([{ ip: "192.0.2.5" }]));
});

it("Ingresses of an IngressClass are served if it names Istio's controller", async () => {
  const { cluster, run } = await start(meshSettings({ ...strict, ingressService: "gateway" }));
  const { objects } = cluster.server;
  await objects.create(service([], ["192.0.2.1"]));
  for (const [name, controller] of [
    ["mine", "istio.io/ingress-controller"],
    ["theirs", "example.com/other"],
  ] as const) {
    await objects.create({
      apiVersion: "networking.k8s.io/v1",
      kind: "IngressClass",
      metadata: { name },
      spec: { controller },
    });
    await objects.create({ ...ingress(name, {}), spec: { ingressClassName: name } });
  }
  run();
  await eventually(() => expect(statusOf(cluster, "mine")).toEqual([{ ip: "192.0.2.1" }]));
  expect(cluster.writes()).toHaveLength(1);
});
