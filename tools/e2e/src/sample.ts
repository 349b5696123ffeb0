import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findEnvoy } from "@istiod/envoy-binary";
import type { Agent } from "@istiod/pilot-agent";
import { parseAllDocuments } from "yaml";
import { eventually } from "./eventually.js";
import { type Istiod, type IstiodPlaces, type LogLine, refusalsIn, startIstiodInside } from "./istiod.js";
import { acknowledged, type ProxyStatus, readStatus } from "./proxy-status.js";
import { issueToken, startProxy } from "./proxy.js";
import { claimSubnet, type Subnet } from "./subnet.js";
import { place, type Workload } from "./workload.js";

/** A directory of YAML, served, with an Envoy for each of its Pods; no applications. */
export interface Sample {
  /** URL of istiod's debug interface. */
  readonly istiod: string;
  readonly workloads: readonly Workload[];
  /** What every proxy was sent and has acknowledged, once there is nothing outstanding. */
  status(): Promise<readonly ProxyStatus[]>;
  lines(): readonly LogLine[];
  refusals(): readonly string[];
  close(): Promise<void>;
}

interface Pod {
  readonly kind?: string;
  readonly metadata?: { readonly name?: string; readonly namespace?: string; readonly labels?: Record<string, string> };
  readonly spec?: { readonly serviceAccountName?: string };
  readonly status?: { readonly podIP?: string };
}

/** Starts a sample at addresses of its own in place of `127.20.0.N` and `127.30.0.N`, which the demo may be using. */
export async function startSample(folder: string): Promise<Sample> {
  const envoy = await findEnvoy();
  if (!envoy) throw new Error("no Envoy: ask whyNoEnvoy() first");
  const subnet = await claimSubnet();
  const work = await mkdtemp(join(tmpdir(), "istiod-e2e-"));
  const places: IstiodPlaces = { address: subnet.address(253), config: join(work, "config"), work };
  const agents: Agent[] = [];
  let istiod: Istiod | undefined;
  const close = async (): Promise<void> => {
    await Promise.allSettled(agents.map((a) => a.terminate()));
    await istiod?.kill();
    subnet.release();
    await rm(work, { recursive: true, force: true });
  };
  try {
    await mkdir(places.config);
    const workloads: Workload[] = [];
    for (const file of (await readdir(folder)).filter((f) => /\.ya?ml$/.test(f))) {
      const text = moved(await readFile(join(folder, file), "utf8"), subnet);
      await writeFile(join(places.config, file), text);
      workloads.push(...parseAllDocuments(text).flatMap((d) => workloadOf(d.toJS() as Pod | null)));
    }
    for (const w of workloads) await issueToken(places, w, randomBytes(32).toString("base64url"));
    await writeFile(join(work, "mesh.yaml"), "{}\n");
    istiod = await startIstiodInside(places);
    agents.push(...(await Promise.all(workloads.map((w) => startProxy(w, places, { envoy, delta: true })))));
    const lines = (): readonly LogLine[] => istiod?.lines ?? [];
    return {
      istiod: `http://${places.address}:8080`,
      workloads,
      status: async () => {
        await eventually("every proxy has acknowledged", async () => acknowledged(await readStatus(places.address)));
        return readStatus(places.address);
      },
      lines,
      refusals: () => refusalsIn(lines()),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function moved(text: string, subnet: Subnet): string {
  return text.replaceAll(/127\.([23])0\.0\.(\d+)/g, (_, kind: string, n: string) =>
    kind === "2" ? subnet.address(Number(n)) : subnet.outbound(Number(n)),
  );
}

function workloadOf(pod: Pod | null): Workload[] {
  if (pod?.kind !== "Pod") return [];
  const { name = "", namespace = "default", labels = {} } = pod.metadata ?? {};
  const proxy = labels["istio"] === undefined ? "sidecar" : "router";
  const placed = place({ app: labels["app"] ?? name, name, namespace, proxy, labels }, pod.status?.podIP ?? "", "");
  return [{ ...placed, serviceAccount: pod.spec?.serviceAccountName ?? "default", labels }];
}
