import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";

/** One workload of the sample: a Pod that runs on this machine, on a loopback address of its own. */
export interface Workload {
  readonly name: string;
  readonly namespace: string;
  readonly app: string;
  readonly version: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly serviceAccount: string;
  /** Its inbound address, served by its proxy. */
  readonly address: string;
  /** The address of its proxy's outbound listeners; a gateway has none. */
  readonly outbound: string;
  readonly role: "sidecar" | "router";
}

interface PodDocument {
  readonly kind?: string;
  readonly metadata?: { readonly name?: string; readonly namespace?: string; readonly labels?: Record<string, string> };
  readonly spec?: { readonly serviceAccountName?: string };
  readonly status?: { readonly podIP?: string };
}

/** The workloads that a directory of YAML describes as Pods; a Pod labelled `istio` is a gateway. */
export async function readWorkloads(directory: string): Promise<Workload[]> {
  const files = (await readdir(directory)).filter((f) => f.endsWith(".yaml")).sort();
  const texts = await Promise.all(files.map((f) => readFile(join(directory, f), "utf8")));
  const documents = texts.flatMap((t) => parseAllDocuments(t).map((d) => d.toJS() as PodDocument | null));
  return documents.flatMap((d) => (d?.kind === "Pod" ? [workload(d)] : []));
}

function workload({ metadata = {}, spec = {}, status = {} }: PodDocument): Workload {
  const labels = metadata.labels ?? {};
  const address = status.podIP ?? "";
  const router = labels["istio"] !== undefined;
  return {
    name: metadata.name ?? "",
    namespace: metadata.namespace ?? "default",
    app: labels["app"] ?? labels["istio"] ?? metadata.name ?? "",
    version: labels["version"] ?? "",
    labels,
    serviceAccount: spec.serviceAccountName ?? "default",
    address,
    outbound: router ? "" : address.replace(/^127\.20\./, "127.30."),
    role: router ? "router" : "sidecar",
  };
}
