import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import { allKinds } from "@istiod/config-schema";
import { chartInstallation, injectionValues } from "@istiod/injector/testing";
import type { KubernetesObject } from "@istiod/kubernetes";
import { type ApiServer, startApiServer } from "@istiod/kubernetes/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { typesOf } from "@istiod/commands/testing";
import { until } from "./remote-mesh.js";
import { client, decoded, folder, serve } from "./serving.js";

const group = "gateway.networking.k8s.io";
const routeType = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration";
const kinds = allKinds.filter((kind) => kind.group === group);

const gateway = (className = "istio") => ({
  apiVersion: `${group}/v1`,
  kind: "Gateway",
  metadata: { namespace: "shop", name: "edge", generation: 1 },
  spec: { gatewayClassName: className, listeners: [{ name: "http", port: 80, protocol: "HTTP" }] },
});
const route = {
  apiVersion: `${group}/v1`,
  kind: "HTTPRoute",
  metadata: { namespace: "shop", name: "cart" },
  spec: { parentRefs: [{ name: "edge" }], rules: [{ backendRefs: [{ name: "cart", port: 80 }] }] },
};
const service = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { namespace: "shop", name: "cart" },
  spec: { ports: [{ name: "http", port: 80 }] },
};

/** Returns an API server with the Gateway API, and an istiod with the templates of the chart. */
async function start(env: NodeJS.ProcessEnv = {}) {
  const server = await startApiServer({ types: typesOf(kinds), namespaces: ["shop", "istio-system"] });
  onTestFinished(() => server.stop());
  const { templates, values } = chartInstallation();
  const data = {
    config: JSON.stringify({ policy: "enabled", templates }),
    values: JSON.stringify(injectionValues(values)),
  };
  const metadata = { namespace: "istio-system", name: "istio-sidecar-injector" };
  await server.objects.create({ apiVersion: "v1", kind: "ConfigMap", metadata, data });
  const kubeconfig = join(await folder({ kubeconfig: server.kubeconfig.yaml }), "kubeconfig");
  return {
    server,
    serve: () => serve({ kubeconfig, secureGRPCAddr: "127.0.0.1:0" }, { POD_NAME: "istiod-0", ...env }),
  };
}

interface Conditions {
  readonly conditions?: readonly {
    readonly type: string;
    readonly status: string;
    readonly observedGeneration: number;
  }[];
}

interface Status extends Conditions {
  readonly listeners?: readonly { readonly attachedRoutes: number }[];
  readonly parents?: readonly Conditions[];
}

function found({ objects }: ApiServer, apiVersion: string, kind: string, name: string) {
  return objects.get({ apiVersion, kind, namespace: "shop", name }) as
    | (KubernetesObject & { readonly status?: Status })
    | undefined;
}

const accepted = ({ conditions = [] }: Conditions = {}): string | undefined =>
  conditions.find(({ type }) => type === "Accepted")?.status;

test("a Gateway is deployed, its proxy is served the routes, and all objects get a status", async () => {
  const { server, serve: startIstiod } = await start();
  for (const object of [service, gateway(), route]) await server.objects.create(object);
  const istiod = await startIstiod();
  await vi.waitFor(() => {
    expect(found(server, "apps/v1", "Deployment", "edge-istio")).toBeDefined();
    expect(found(server, "v1", "Service", "edge-istio")).toBeDefined();
    expect(accepted(found(server, `${group}/v1`, "Gateway", "edge")?.status)).toBe("True");
    expect(found(server, `${group}/v1`, "Gateway", "edge")?.status?.listeners?.[0]?.attachedRoutes).toBe(1);
    expect(accepted(found(server, `${group}/v1`, "HTTPRoute", "cart")?.status?.parents?.[0])).toBe("True");
    const names = server.objects.list({ apiVersion: `${group}/v1`, kind: "GatewayClass" });
    expect(names.map((object) => [object.metadata.name, accepted(object["status"] as Status)])).toEqual([
      ["istio", "True"],
      ["istio-remote", "True"],
    ]);
  }, until);
  const istioClass = server.objects.get({ apiVersion: `${group}/v1`, kind: "GatewayClass", name: "istio" });
  const { supportedFeatures = [] } = istioClass?.["status"] as { readonly supportedFeatures?: { name: string }[] };
  const features = supportedFeatures.map(({ name }) => name);
  expect(features).toEqual(expect.arrayContaining(["Gateway", "HTTPRoute", "HTTPRouteRequestTimeout", "Mesh"]));
  expect(features).toEqual([...features].sort());
  const leases = server.objects.list({
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    namespace: "istio-system",
  });
  expect(leases.map(({ metadata }) => metadata.name).sort()).toEqual([
    "istio-gateway-deployment-default",
    "istio-gateway-status-leader-default",
  ]);
  const { labels } = (
    found(server, "apps/v1", "Deployment", "edge-istio") as never as {
      readonly spec: { readonly template: { readonly metadata: { readonly labels: Record<string, string> } } };
    }
  ).spec.template.metadata;
  const node = create(NodeSchema, {
    id: "router~10.9.0.1~edge-0.shop~shop.svc.cluster.local",
    metadata: { NAMESPACE: "shop", LABELS: labels },
  });
  const proxy = client(istiod, "delta", node);
  proxy.subscribe(routeType, ["http.80"]);
  const actions = async (): Promise<readonly unknown[]> => {
    const [config] = decoded(RouteConfigurationSchema, await proxy.accept(routeType));
    return (config?.virtualHosts ?? []).flatMap(({ routes }) => routes.map(({ action }) => action.case));
  };
  // The Service of the Gateway, by which the proxy is found, may arrive after the first response.
  const first = await actions();
  expect(first.length > 0 ? first : await actions()).toEqual(["route"]);
});

test("variables turn the controllers off", async () => {
  const { server, serve: startIstiod } = await start({
    PILOT_ENABLE_GATEWAY_API_STATUS: "false",
    PILOT_ENABLE_GATEWAY_API_GATEWAYCLASS_CONTROLLER: "false",
  });
  await server.objects.create(gateway());
  await startIstiod();
  await vi.waitFor(() => expect(found(server, "v1", "Service", "edge-istio")).toBeDefined(), until);
  expect(server.objects.list({ apiVersion: `${group}/v1`, kind: "GatewayClass" })).toEqual([]);
  const written = (word: string) =>
    server.requests.filter(({ method, path }) => method !== "GET" && path.includes(word)).map(({ path }) => path);
  expect(written("istio-gateway-status-leader")).toEqual([]);
});

test("PILOT_ENABLE_GATEWAY_API=false turns all of them off", async () => {
  const { server, serve: startIstiod } = await start({ PILOT_ENABLE_GATEWAY_API: "false" });
  await server.objects.create(gateway());
  await startIstiod();
  await vi.waitFor(
    () =>
      expect(
        server.objects.get({ apiVersion: "v1", kind: "ConfigMap", namespace: "shop", name: "istio-ca-root-cert" }),
      ).toBeDefined(),
    until,
  );
  expect(server.requests.filter(({ method, path }) => method !== "GET" && /gateway/i.test(path))).toEqual([]);
});
