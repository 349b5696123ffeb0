import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type ApiClient, ApiError } from "@istiod/kubernetes";
import { type ChartObject, completeCharts, renderChart, type RenderOptions } from "@istiod/manifests";
import { parseAllDocuments } from "yaml";
import type { Deployment } from "../kube/workloads.js";
import type { Service } from "../kube/objects.js";
import { type AnyObject, ObjectApplier } from "./apply-objects.js";

export const SYSTEM_NAMESPACE = "istio-system";
/** Namespace of the ingress gateway. */
export const EDGE_NAMESPACE = "istio-ingress";

export interface SampleOptions {
  /** Values of the chart `istiod`, in addition to the sample's. Default: none. */
  readonly istiodValues?: Readonly<Record<string, unknown>>;
  /** Milliseconds until each part must be ready. Default 300,000. */
  readonly timeoutMs?: number;
  /** Ends the installation where it waits. */
  readonly signal?: AbortSignal;
  /** Receives what the installation is doing. */
  readonly report?: (progress: string) => void;
}

/** The nodes have no autoscaler: the Deployments have their number of replicas. */
const VALUES = { autoscaleEnabled: false, replicaCount: 3, meshConfig: { accessLogFile: "/dev/stdout" } };
const GATEWAY_VALUES = { autoscaling: { enabled: false }, replicaCount: 1 };
const INTERVAL = 500;

/**
 * Installs the charts `base` and `istiod`, with three istiods unless the values say otherwise.
 *
 * @throws ApiError if an object is rejected, and Error that names what does not become ready
 */
export async function installIstiod(client: ApiClient, options: SampleOptions = {}): Promise<void> {
  const { istiodValues = {}, report = () => undefined } = options;
  const applier = new ObjectApplier(client, options.signal);
  await completeCharts();
  await applier.apply([namespaceOf(SYSTEM_NAMESPACE)]);
  report("installing the charts base and istiod");
  await install(applier, "base", { release: "istio-base", namespace: SYSTEM_NAMESPACE });
  const values = { ...VALUES, ...istiodValues };
  await install(applier, "istiod", { release: "istiod", namespace: SYSTEM_NAMESPACE, values });
  report("waiting for istiod");
  await waitForDeployment(client, SYSTEM_NAMESPACE, "istiod", options);
  await waitForWebhooks(client, options);
}

/** Installs istiod, then an ingress gateway that it injects. */
async function installMesh(client: ApiClient, options: SampleOptions): Promise<void> {
  await installIstiod(client, options);
  options.report?.("installing the chart gateway");
  const applier = new ObjectApplier(client, options.signal);
  await applier.apply([namespaceOf(EDGE_NAMESPACE)]);
  const release = "istio-ingressgateway";
  await install(applier, "gateway", { release, namespace: EDGE_NAMESPACE, values: GATEWAY_VALUES });
  await waitForDeployment(client, EDGE_NAMESPACE, release, options);
}

async function install(applier: ObjectApplier, chart: string, { values, ...release }: RenderOptions): Promise<void> {
  await applier.apply(ordered(await renderChart(chart, { ...release, ...(values && { values }) })));
}

/** Installs the mesh and Bookinfo. Returns the address of the ingress gateway. */
export async function installBookinfo(client: ApiClient, options: SampleOptions = {}): Promise<string> {
  await installMesh(client, options);
  options.report?.("installing Bookinfo");
  const objects = await readObjects(fileURLToPath(new URL("../../samples/bookinfo.yaml", import.meta.url)));
  await new ObjectApplier(client, options.signal).apply(objects);
  for (const { kind, metadata } of objects)
    if (kind === "Deployment") await waitForDeployment(client, metadata.namespace ?? "", metadata.name, options);
  const path = `/api/v1/namespaces/${EDGE_NAMESPACE}/services/istio-ingressgateway`;
  const { spec, status } = await client.json<Service>({ path });
  return status?.loadBalancer?.ingress?.[0]?.ip ?? spec.clusterIP ?? "";
}

const namespaceOf = (name: string): AnyObject => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } });

/** Puts what others refer to first, and Pods last, as Helm does. */
export function ordered(objects: readonly ChartObject[]): readonly ChartObject[] {
  const rank = ({ kind }: ChartObject): number =>
    ["ServiceAccount", "CustomResourceDefinition"].includes(kind) ? 0 : kind === "Deployment" ? 2 : 1;
  return objects.toSorted((a, b) => rank(a) - rank(b));
}

async function readObjects(file: string): Promise<readonly AnyObject[]> {
  return parseAllDocuments(await readFile(file, "utf8")).map((document) => document.toJS() as AnyObject);
}

/** Waits until all replicas of a Deployment are ready. */
export async function waitForDeployment(
  client: ApiClient,
  namespace: string,
  name: string,
  options: SampleOptions = {},
): Promise<void> {
  const path = `/apis/apps/v1/namespaces/${namespace}/deployments/${name}`;
  await until(`Deployment ${namespace}/${name} is not ready`, options, async () => {
    const { spec, status } = await client.json<Deployment>({ path });
    return (status?.readyReplicas ?? 0) >= (spec.replicas ?? 1);
  });
}

/** Waits until istiod has written its root certificate into the webhooks. */
async function waitForWebhooks(client: ApiClient, options: SampleOptions): Promise<void> {
  interface Configuration {
    readonly webhooks: readonly { readonly clientConfig: { readonly caBundle?: string } }[];
  }
  for (const name of [
    "mutatingwebhookconfigurations/istio-sidecar-injector",
    "validatingwebhookconfigurations/istio-validator-istio-system",
  ]) {
    const path = `/apis/admissionregistration.k8s.io/v1/${name}`;
    await until(`${name} has no caBundle`, options, async () => {
      const { webhooks } = await client.json<Configuration>({ path });
      return webhooks.every(({ clientConfig }) => clientConfig.caBundle);
    });
  }
}

async function until(
  message: string,
  { timeoutMs = 300_000, signal }: SampleOptions,
  isDone: () => Promise<boolean>,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await isDone().catch(ignoreNetwork))) {
    if (Date.now() > deadline) throw new Error(`${message} after ${timeoutMs / 1000} s`);
    await sleep(INTERVAL, undefined, { signal });
  }
}

function ignoreNetwork(error: unknown): false {
  if (error instanceof ApiError && ["network", "timeout", "unavailable"].includes(error.code)) return false;
  throw error;
}
