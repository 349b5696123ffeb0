import { randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Agent } from "@istiod/pilot-agent";
import { Closers } from "@istiod/runtime";
import { parseAllDocuments } from "yaml";
import { requireEnvoy } from "../envoy/require-envoy.js";
import { eventually } from "../eventually.js";
import { type IstiodPlaces, type LogLine, refusalsIn, startIstiodInProcess } from "../istiod/istiod.js";
import { acknowledged, type ProxyStatus, readStatus } from "../istiod/proxy-status.js";
import { allStarted } from "./all-started.js";
import { issueToken, startProxy } from "./proxy.js";
import { claimSubnet, type Subnet } from "./subnet.js";
import { createWorkDirectory } from "./work-directory.js";
import { place, type Workload } from "./workload.js";

/** A directory of YAML served by istiod, with an Envoy for each Pod in it and no applications. */
export interface Sample {
  /** URL of istiod's debug interface. */
  readonly istiod: string;
  readonly workloads: readonly Workload[];
  /** Returns the status of every proxy, once no acknowledgement is outstanding. */
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

/**
 * Starts a sample. Its addresses `127.20.0.N` and `127.30.0.N` are replaced by those of a claimed subnet, because a
 * running demo may be using them.
 */
export async function startSample(folder: string): Promise<Sample> {
  const envoy = await requireEnvoy();
  const closers = new Closers();
  return closers.closeOnError(async () => {
    const subnet = await claimSubnet();
    closers.defer(() => subnet.release());
    const work = await createWorkDirectory(closers);
    const places: IstiodPlaces = { address: subnet.address(253), config: join(work, "config"), work };
    const workloads = await copySample(folder, places, subnet);
    for (const w of workloads) await issueToken(places, w, randomBytes(32).toString("base64url"));
    const istiod = await startIstiodInProcess(places);
    closers.defer(() => istiod.kill());
    const agents: Agent[] = [];
    closers.defer(() => Promise.allSettled(agents.map((agent) => agent.terminate())));
    await allStarted(workloads.map(async (w) => void agents.push(await startProxy(w, places, { envoy, delta: true }))));
    return {
      istiod: `http://${places.address}:8080`,
      workloads,
      status: async () => {
        await eventually("every proxy has acknowledged", async () => acknowledged(await readStatus(places.address)));
        return readStatus(places.address);
      },
      lines: () => istiod.lines,
      refusals: () => refusalsIn(istiod.lines),
      close: () => closers.close(),
    };
  });
}

/** Copies a sample to istiod's directory, with its addresses replaced. Returns the workloads of its Pods. */
async function copySample(folder: string, { config, work }: IstiodPlaces, subnet: Subnet): Promise<Workload[]> {
  await mkdir(config);
  await writeFile(join(work, "mesh.yaml"), "{}\n");
  const workloads: Workload[] = [];
  for (const file of (await readdir(folder)).filter((f) => /\.ya?ml$/.test(f))) {
    const text = replaceAddresses(await readFile(join(folder, file), "utf8"), subnet);
    await writeFile(join(config, file), text);
    workloads.push(...parseAllDocuments(text).flatMap((d) => workloadOf(d.toJS() as Pod | null)));
  }
  return workloads;
}

function replaceAddresses(text: string, subnet: Subnet): string {
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
