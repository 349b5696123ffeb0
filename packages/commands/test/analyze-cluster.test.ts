import { analyzeCommand } from "@istiod/commands";
import { istioTypes } from "@istiod/commands/testing";
import { expect, test } from "vitest";
import { clusterWith, type CommandCluster, type Run, sharedCluster } from "./cluster-run.js";
import { folder } from "./folder.js";
import { namespace } from "./injection-mesh.js";

const mesh = `${namespace("shop", "{istio-injection: disabled}")}${namespace("istio-system")}
---
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: shop}
spec: {clusterIP: 10.96.0.1, ports: [{name: http, port: 80}]}
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: cart, namespace: shop}
spec: {hosts: [cart], gateways: [front], http: [{route: [{destination: {host: nobody}}]}]}
`;
const cluster = sharedCluster(mesh, { types: istioTypes });

/** Runs the command on a cluster. Its findings are those about objects of the namespace shop. */
async function analyzed(of: CommandCluster, ...args: string[]): Promise<Run> {
  return of.run(
    (options) =>
      analyzeCommand(options.env as NodeJS.ProcessEnv, { ...options, stdin: async () => "", isColorTerminal: false }),
    ...["--meshConfig", "", "--networksConfig", "", "-n", "shop", ...args],
  );
}

const missing = ["Error [IST0101] (VirtualService shop/cart)", "Error [IST0101] (VirtualService shop/cart)"];
const places = ({ out }: Run): string[] => out.split("\n").flatMap((line) => /^\w+ \[\w+\] \([^)]*\)/.exec(line) ?? []);

test("without files, the cluster of the kubeconfig is analyzed", async () => {
  const run = await analyzed(cluster());
  expect(places(run).filter((place) => place.includes("IST0101"))).toEqual(missing);
  expect(run.exit).toBe(79);
  expect(run.warnings).toBe("");
});

test("objects of files take the place of the cluster's", async () => {
  const fixed = `
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: cart, namespace: shop}
spec: {hosts: [cart], http: [{route: [{destination: {host: cart}}]}]}
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: other, namespace: shop}
spec: {hosts: [other], http: [{route: [{destination: {host: cart}}, {destination: {host: lost}}]}]}
`;
  const file = `${await folder({ "fixed.yaml": fixed })}/fixed.yaml`;
  const found = places(await analyzed(cluster(), "--use-kube", file)).filter((place) => place.includes("IST0101"));
  expect(found).toEqual([`Error [IST0101] (VirtualService shop/other ${file}:10)`]);
  const alone = places(await analyzed(cluster(), file)).filter((place) => place.includes("IST0101"));
  expect(alone.length).toBeGreaterThan(1);
});

test("kinds that may not be read are named, and the others are analyzed", async () => {
  const { server, run } = await clusterWith(mesh, { types: istioTypes });
  await server.faults.failRequests({ pathPrefix: "/api/v1/secrets", status: 403 });
  const found = await analyzed({ server, run });
  expect(found.warnings).toMatch(/^Warning: analyzed without secrets: /);
  expect(places(found).filter((place) => place.includes("IST0101"))).toEqual(missing);
});
