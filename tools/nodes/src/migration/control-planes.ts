import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { createSelfSignedRoot } from "@istiod/ca";
import type { ApiClient } from "@istiod/kubernetes";
import { type ChartObject, completeCharts, findHelm, renderChart } from "@istiod/manifests";
import { parseAllDocuments, stringify } from "yaml";
import type { AnyObject, ObjectApplier } from "../sample/apply-objects.js";
import { ordered, SYSTEM_NAMESPACE, waitForDeployment } from "../sample/install-bookinfo.js";

/** A control plane by its revision: this istiod, or the original. */
export type Revision = "here" | "original";

/** The image of the original's istiod, which a registry file must have. */
export const ORIGINAL_IMAGE = "pilot-original";

export interface ControlPlaneOptions {
  /** Folder of the original's charts: `manifests/charts` of its repository. */
  readonly charts: string;
  /** Milliseconds until each must be ready. */
  readonly timeoutMs: number;
}

/**
 * Values that let the original configure an Envoy without Istio's extensions: no filters and statistics of Istio's
 * proxy. All else is what the original does by itself.
 */
const stockEnvoy = {
  env: { PILOT_ENABLE_METADATA_EXCHANGE: "false", PILOT_ENABLE_ALPN_FILTER: "false" },
  meshConfig: { defaultProviders: { metrics: [] } },
};

const values = (revision: Revision): Readonly<Record<string, unknown>> => ({
  revision,
  autoscaleEnabled: false,
  replicaCount: 1,
  ...(revision === "original" && { ...stockEnvoy, image: ORIGINAL_IMAGE }),
});

/** Installs both control planes beside each other, with one root, and waits until both are ready. */
export async function installControlPlanes(
  client: ApiClient,
  applier: ObjectApplier,
  { charts, timeoutMs }: ControlPlaneOptions,
): Promise<void> {
  await completeCharts();
  await applier.apply([
    { apiVersion: "v1", kind: "Namespace", metadata: { name: SYSTEM_NAMESPACE } },
    await sharedRoot(),
  ]);
  const namespace = SYSTEM_NAMESPACE;
  const base = { release: "istio-base", namespace, values: { defaultRevision: "here" } };
  await applier.apply(ordered(await renderChart("base", base)));
  await applier.apply(
    ordered(await renderChart("istiod", { release: "istiod-here", namespace, values: values("here") })),
  );
  await applier.apply(ordered(await renderOriginal(join(charts, "istio-control/istio-discovery"))));
  for (const revision of ["here", "original"] satisfies Revision[])
    await waitForDeployment(client, namespace, `istiod-${revision}`, { timeoutMs });
}

/** Returns the Secret of a root that both sign with. */
async function sharedRoot(): Promise<AnyObject> {
  const { certificate, privateKey } = await createSelfSignedRoot({ organization: "cluster.local" }, Date.now());
  const stringData = {
    "ca-cert.pem": certificate,
    "ca-key.pem": privateKey,
    "root-cert.pem": certificate,
    "cert-chain.pem": certificate,
  };
  const metadata = { name: "cacerts", namespace: SYSTEM_NAMESPACE };
  return { apiVersion: "v1", kind: "Secret", metadata, stringData } as AnyObject;
}

/** @throws Error if there is no Helm, or with Helm's message */
async function renderOriginal(chart: string): Promise<readonly ChartObject[]> {
  const helm = await findHelm();
  if (helm === undefined) throw new Error("there is no Helm, which renders the original's chart: npm run helm:install");
  const child = promisify(execFile)(
    helm,
    ["template", "istiod-original", chart, "--namespace", SYSTEM_NAMESPACE, "--values", "-"],
    { maxBuffer: 64 << 20 },
  );
  child.child.stdin?.end(stringify(values("original")));
  const { stdout } = await child;
  return parseAllDocuments(stdout)
    .map((document) => document.toJS() as ChartObject | null)
    .filter((object) => object !== null);
}
