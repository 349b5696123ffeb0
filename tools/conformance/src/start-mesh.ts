import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { startCluster } from "@istiod/cluster";
import { createApiClient, parseKubeconfig } from "@istiod/kubernetes";
import { type AnyObject, type Images, installIstiod, ObjectApplier, startNodes } from "@istiod/nodes";
import { parseAllDocuments } from "yaml";
import type { Programs } from "./build-programs.js";

/** Release channel of the Gateway API's CustomResourceDefinitions. */
export type Channel = "standard" | "experimental";

export interface Mesh {
  /** The administrator's kubeconfig, as YAML. */
  readonly kubeconfig: string;
  /** Resolves when the API server has ended by itself. */
  readonly ended: Promise<void>;
  /** Stops everything, and removes its files. */
  stop(): Promise<void>;
}

/** Settings of istiod. Features that are off by default are tested as well. */
const ENVIRONMENT = { PILOT_GATEWAY_API_MATCH_CLUSTER_IP: "true" };

/** Starts an API server with nodes, the CustomResourceDefinitions of the Gateway API, and istiod from its chart. */
export async function startMesh(
  programs: Programs,
  channel: Channel,
  report: (progress: string) => void,
): Promise<Mesh> {
  const closers: (() => unknown)[] = [];
  const stop = async (): Promise<void> => {
    for (const close of closers.splice(0).reverse()) await close();
  };
  try {
    report("starting the API server and two nodes");
    const cluster = await startCluster();
    const { kubeconfig, ended } = cluster;
    closers.push(() => cluster.stop());
    const onError = (error: unknown): void =>
      report(`nodes: ${error instanceof Error ? error.message : String(error)}`);
    const nodes = await startNodes({ kubeconfig, images: imagesOf(programs), onError });
    closers.push(() => nodes.stop());
    const client = createApiClient(await parseKubeconfig(kubeconfig), {
      userAgent: "conformance",
      qps: 100,
      burst: 200,
    });
    closers.push(() => client.close());
    report(`installing the definitions of the Gateway API, channel ${channel}`);
    await new ObjectApplier(client).apply(await readDefinitions(join(programs.gatewayApi, "config/crd", channel)));
    await installIstiod(client, { istiodValues: { replicaCount: 1, env: ENVIRONMENT }, report });
    return { kubeconfig, ended, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function imagesOf({ echoBasic, echoAdvanced }: Programs): Images {
  return {
    "echo-basic": { entrypoint: [echoBasic] },
    "echo-advanced": { entrypoint: [echoAdvanced], files: { "/usr/local/bin/client": echoAdvanced } },
  };
}

async function readDefinitions(folder: string): Promise<readonly AnyObject[]> {
  const names = (await readdir(folder)).filter((name) => name.startsWith("gateway.")).toSorted();
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
  const objects = texts.flatMap((each) =>
    parseAllDocuments(each).map((document) => document.toJS() as AnyObject | null),
  );
  return objects.filter((object) => object !== null);
}
