import { createApiClient, parseKubeconfig } from "@istiod/kubernetes";
import { expect, onTestFinished, test } from "vitest";
import { installationUnavailable, installChart, startIstiod } from "./installed-istiod.js";

const unavailable = await installationUnavailable();
const until = { timeout: 60_000, interval: 100 };

const inShop = (apiVersion: string, kind: string, name: string, fields: object) => ({
  apiVersion,
  kind,
  metadata: { name, namespace: "shop" },
  ...fields,
});
const mesh = [
  inShop("v1", "Service", "cart", { spec: { selector: { app: "cart" }, ports: [{ name: "http", port: 80 }] } }),
  inShop("v1", "Secret", "edge", { type: "kubernetes.io/tls", data: { "tls.crt": "QQ==", "tls.key": "QQ==" } }),
  inShop("networking.istio.io/v1", "ServiceEntry", "db", {
    spec: { hosts: ["db.example.com"], ports: [{ number: 80, name: "http", protocol: "HTTP" }], resolution: "DNS" },
  }),
  inShop("networking.k8s.io/v1", "Ingress", "edge", {
    spec: {
      ingressClassName: "istio",
      rules: [
        {
          host: "shop.example.com",
          http: {
            paths: [{ path: "/", pathType: "Prefix", backend: { service: { name: "cart", port: { number: 80 } } } }],
          },
        },
      ],
    },
  }),
];

test("istiod reads and writes a cluster with the permissions of the chart, without a forbidden request", async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  const installed = await installChart(mesh);
  const { cluster, proxy, kubeconfig } = installed;
  await startIstiod(installed);

  const read = (path: string): Promise<unknown> => cluster.client.json({ path }).catch((error: unknown) => error);
  await expect
    .poll(() => read("/api/v1/namespaces/shop/configmaps/istio-ca-root-cert"), until)
    .toMatchObject({ data: { "root-cert.pem": expect.stringContaining("BEGIN CERTIFICATE") } });
  await expect
    .poll(() => read("/apis/networking.istio.io/v1/namespaces/shop/serviceentries/db"), until)
    .toMatchObject({ status: { addresses: [expect.anything(), expect.anything()] } });
  expect(await read("/api/v1/namespaces/istio-system/secrets/istio-ca-secret")).toMatchObject({ kind: "Secret" });
  expect(proxy.forbidden).toEqual([]);

  // The proxy records what is forbidden.
  const asIstiod = createApiClient(await parseKubeconfig(kubeconfig));
  onTestFinished(() => asIstiod.close());
  await expect(asIstiod.json({ path: "/apis/apps/v1/daemonsets" })).rejects.toMatchObject({ code: "forbidden" });
  expect(proxy.forbidden).toEqual(["GET /apis/apps/v1/daemonsets"]);
}, 240_000);
