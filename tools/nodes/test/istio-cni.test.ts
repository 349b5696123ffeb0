import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findEnvoy } from "@istiod/envoy-binary";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Pod } from "../src/kube/objects.js";
import { type AnyObject, ObjectApplier } from "../src/sample/apply-objects.js";
import { installIstiod, waitForDeployment } from "../src/sample/install-bookinfo.js";
import { execute } from "./execute.js";
import { patience as usual, unavailable as noNodes, useRig } from "./rig.js";

// The plugin of Istio beside this istiod: it redirects the traffic of injected Pods, which need no privileges then.

const binary = process.env["ISTIO_CNI_BINARY"];
const noPlugin = binary ? undefined : "set ISTIO_CNI_BINARY to Istio's CNI plugin istio-cni";
const noEnvoy = (await findEnvoy()) === undefined ? "there is no Envoy: npm run envoy:install" : undefined;
const apps = ["istiod", "pilot-agent"].map((app) => new URL(`../../../apps/${app}/bundle/main.js`, import.meta.url));
const noBundle = apps.every((bundle) => existsSync(bundle)) ? undefined : "there are no bundles: npm run build";
const unavailable = noPlugin ?? noNodes ?? noEnvoy ?? noBundle;
const patience = { ...usual, timeout: 120_000 };

/** Namespace of which the plugin leaves the Pods alone. */
const EXCLUDED = "excluded";

let directory = "";
const holder = useRig({
  cniPlugin: async (kubeconfig) => {
    directory = await mkdtemp(join(tmpdir(), "istio-cni-"));
    await writeFile(join(directory, "istio-cni-kubeconfig"), kubeconfig);
    const excluded = ["istio-system", "kube-system", EXCLUDED];
    const config = { type: "istio-cni", cni_agent_run_dir: directory, exclude_namespaces: excluded };
    return { path: binary ?? "", config };
  },
});

beforeAll(async () => {
  if (unavailable !== undefined) return;
  const istiodValues = { replicaCount: 1, cni: { enabled: true } };
  await installIstiod(holder.rig.client, { istiodValues });
}, 400_000);
afterAll(() => rm(directory, { recursive: true, force: true }));

const object = (apiVersion: string, kind: string, namespace: string, name: string, rest: object): AnyObject => ({
  ...{ apiVersion, kind, metadata: { namespace, name } },
  ...rest,
});

/** Returns a namespace with injection. */
const injected = (name: string) =>
  ({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name, labels: { "istio-injection": "enabled" } },
  }) as AnyObject;

/** Returns a service of the image relay, which asks the next one if there is one. */
function relay(namespace: string, name: string, next: readonly string[]): readonly AnyObject[] {
  const ports = [{ name: "http", port: 8080 }];
  const container = { name: "relay", image: "relay", args: next, readinessProbe: { tcpSocket: { port: 8080 } } };
  const template = { metadata: { labels: { app: name } }, spec: { containers: [container] } };
  const spec = { selector: { matchLabels: { app: name } }, template };
  return [
    object("v1", "Service", namespace, name, { spec: { selector: { app: name }, ports } }),
    object("apps/v1", "Deployment", namespace, name, { spec }),
  ];
}

async function podOf(namespace: string, app: string): Promise<Pod> {
  const query = { labelSelector: `app=${app}` };
  const path = `/api/v1/namespaces/${namespace}/pods`;
  const { items } = await holder.rig.client.json<{ items: Pod[] }>({ path, query });
  if (items[0] === undefined) throw new Error(`there is no Pod of ${app}`);
  return items[0];
}

test("Pods without privileges use mutual TLS", async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  const { rig } = holder;
  const strict = { spec: { mtls: { mode: "STRICT" } } };
  await new ObjectApplier(rig.client).apply([
    injected("shop"),
    object("security.istio.io/v1", "PeerAuthentication", "istio-system", "default", strict),
    ...relay("shop", "back", []),
    ...relay("shop", "front", ["http://back:8080/"]),
  ]);
  for (const name of ["back", "front"]) await waitForDeployment(rig.client, "shop", name);
  const back = await podOf("shop", "back");
  expect(back.spec.initContainers?.map(({ name }) => name)).toEqual(["istio-validation", "istio-proxy"]);
  for (const { securityContext } of back.spec.initContainers ?? [])
    expect(securityContext).toMatchObject({ runAsNonRoot: true, capabilities: { drop: ["ALL"] } });
  const front = (await podOf("shop", "front")).metadata.name;
  const ask = async () =>
    await execute(rig.kubeconfig, { namespace: "shop", pod: front, container: "relay" }, [
      ...["curl", "-s", "http://127.0.0.1:8080/"],
    ]);
  await expect.poll(async () => (await ask()).stdout, patience).toBe("2\n");
  await expect(fetch(`http://${back.status?.podIP}:8080/`)).rejects.toThrow();
}, 300_000);

test("a Pod that the plugin leaves alone does not start", async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  const { rig } = holder;
  await new ObjectApplier(rig.client).apply([injected(EXCLUDED), ...relay(EXCLUDED, "back", [])]);
  const ended = async () => {
    const [validation] = (await podOf(EXCLUDED, "back")).status?.initContainerStatuses ?? [];
    return (validation?.state?.terminated ?? validation?.lastState?.terminated)?.exitCode;
  };
  await expect.poll(() => ended().catch(() => undefined), patience).toBe(126);
}, 200_000);
