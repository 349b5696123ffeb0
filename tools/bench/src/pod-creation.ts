import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type ApiClient, createApiClient, parseKubeconfig } from "@istiod/kubernetes";
import type { ObjectInput } from "@istiod/kubernetes/testing";
import { realServer } from "./cluster-costs/real-server.js";
import { injectionConfiguration } from "./injection/configuration.js";
import { percentiles } from "./injection/percentiles.js";
import { podOfSize } from "./injection/pods.js";
import { type Figure, print } from "./measure.js";
import { positive, runCommand } from "./options.js";
import { freePort, type IstiodProcess, startIstiod } from "./server/istiod-process.js";
import { cpuSeconds } from "./server/usage.js";

const usage = `Usage: pod-creation [--bytes 8192] [--pods 500] [--callers 8] [--rounds 2]

Creates Pods of --bytes bytes of JSON at the API server of tools/cluster, in turns in a namespace without injection and in one whose Pods the webhook of an
istiod injects. In each round and namespace --pods Pods by one caller, then as many by --callers callers. Reports milliseconds until a Pod is created, Pods a
second, and istiod's CPU time for each injected one, of all rounds after the first one, which compiles code.

Needs the API server: npm run cluster:install.`;

const system = "istio-system";
const kinds = ["plain", "injected"] as const;
type Kind = (typeof kinds)[number];

const { values } = parseArgs({
  options: {
    help: { type: "boolean", short: "h" },
    bytes: { type: "string", default: "8192" },
    pods: { type: "string", default: "500" },
    callers: { type: "string", default: "8" },
    rounds: { type: "string", default: "2" },
  },
});

interface Load {
  readonly bytes: number;
  readonly pods: number;
  readonly callers: number;
}

async function measure(): Promise<boolean> {
  const [bytes, pods, callers, rounds] = (["bytes", "pods", "callers", "rounds"] as const).map((flag) =>
    positive(flag, values[flag]),
  ) as [number, number, number, number];
  const work = await mkdtemp(join(tmpdir(), "istiod-pod-creation-"));
  const server = await realServer();
  const client = createApiClient(await parseKubeconfig(server.kubeconfig), { qps: 10_000, burst: 10_000 });
  try {
    await server.create([
      namespace(system),
      namespace("plain"),
      namespace("injected", { "istio-injection": "enabled" }),
      ...(await injectionConfiguration(system)),
      ...kinds.map((kind) => serviceAccount(kind)),
    ]);
    const kubeconfig = join(work, "kubeconfig");
    await writeFile(kubeconfig, server.kubeconfig, { mode: 0o600 });
    const port = await freePort();
    const istiod = await startIstiod({
      kubeconfig,
      flags: { namespace: system, secureGRPCAddr: "127.0.0.1:0", httpsAddr: `127.0.0.1:${port}` },
    });
    try {
      await server.create(exposed(port));
      await server.create([await webhook(client)]);
      await untilInjected(client, bytes);
      print(`Pods of ${bytes} bytes`, await compare(client, istiod, { bytes, pods, callers }, rounds));
    } finally {
      await istiod.stop();
    }
    return true;
  } finally {
    client.close();
    await rm(work, { recursive: true, force: true });
  }
}

async function compare(
  client: ApiClient,
  istiod: IstiodProcess,
  load: Load,
  rounds: number,
): Promise<readonly Figure[]> {
  const measured = { plain: [] as Creations[], injected: [] as Creations[] };
  for (let round = 0; round <= rounds; round++) {
    for (const kind of kinds) {
      const creations = await createPods(client, istiod, kind, load);
      if (round > 0) measured[kind].push(creations);
    }
  }
  return [
    ...kinds.flatMap((kind) => figures(kind, measured[kind], load)),
    {
      what: "istiod's CPU",
      value: (1000 * sum(measured.injected.map(({ cpu }) => cpu))) / (2 * load.pods * rounds),
      unit: "ms an injected Pod",
    },
    { what: "load of the machine", value: loadavg()[0] ?? NaN, unit: `on ${availableParallelism()} processors` },
  ];
}

interface Creations {
  /** Milliseconds of each Pod, by one caller. */
  readonly took: readonly number[];
  /** Seconds for as many Pods by all callers. */
  readonly together: number;
  /** CPU seconds of istiod for all of these. */
  readonly cpu: number;
}

function figures(kind: Kind, rounds: readonly Creations[], { pods, callers }: Load): readonly Figure[] {
  const together = sum(rounds.map(({ together: seconds }) => seconds));
  return [
    { what: `${kind}, ${callers} callers`, value: (pods * rounds.length) / together, unit: "Pods a second" },
    { what: `${kind}, one caller`, value: pods * rounds.length, unit: "Pods" },
    ...percentiles(rounds.flatMap(({ took }) => took)),
  ];
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

async function createPods(
  client: ApiClient,
  { pid }: IstiodProcess,
  kind: Kind,
  { bytes, pods, callers }: Load,
): Promise<Creations> {
  const cpuBefore = cpuSeconds(pid);
  const took: number[] = [];
  for (let at = 0; at < pods; at++) {
    const before = performance.now();
    await createPod(client, kind, bytes);
    took.push(performance.now() - before);
  }
  const before = performance.now();
  let left = pods;
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (left-- > 0) await createPod(client, kind, bytes);
    }),
  );
  const together = (performance.now() - before) / 1000;
  const cpu = cpuSeconds(pid) - cpuBefore;
  await client.json({ method: "DELETE", path: podsOf(kind), query: { gracePeriodSeconds: 0 } });
  return { took, together, cpu };
}

let created = 0;

/** Creates a Pod. @throws Error if it is injected and should not be, or vice versa */
async function createPod(client: ApiClient, kind: Kind, bytes: number): Promise<void> {
  const containers = await containersOfNew(client, kind, bytes);
  if (containers !== expectedContainers[kind]) throw new Error(`a ${kind} Pod has ${containers} containers`);
}

/** Those of the Pod and its sidecar. */
const expectedContainers: Readonly<Record<Kind, number>> = { plain: 2, injected: 3 };

/** Creates a Pod without the fields that the API server sets. Returns the number of its containers. */
async function containersOfNew(client: ApiClient, kind: Kind, bytes: number): Promise<number> {
  const { metadata, spec } = podOfSize(bytes + omittedBytes, created++);
  const { name, labels, annotations } = metadata;
  const body = JSON.stringify({ metadata: { name, labels, annotations }, spec });
  const { spec: stored } = await client.json<{ readonly spec: PodSpec }>({ method: "POST", path: podsOf(kind), body });
  const { containers, initContainers = [] } = stored;
  return containers.length + initContainers.filter((container) => container.name === "istio-proxy").length;
}

interface PodSpec {
  readonly containers: readonly object[];
  readonly initContainers?: readonly { readonly name: string }[];
}

const omittedBytes = ((): number => {
  const { metadata } = podOfSize(0, 0);
  const { name, labels, annotations } = metadata;
  return JSON.stringify(metadata).length - JSON.stringify({ name, labels, annotations }).length;
})();

/** Waits until the API server calls the webhook. */
async function untilInjected(client: ApiClient, bytes: number): Promise<void> {
  for (const until = performance.now() + 60_000; ;) {
    if ((await containersOfNew(client, "injected", bytes)) === expectedContainers.injected) return;
    if (performance.now() > until) throw new Error("the API server did not call the webhook within 60 s");
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

const podsOf = (kind: Kind): string => `/api/v1/namespaces/${kind}/pods`;

const namespace = (name: string, labels: Readonly<Record<string, string>> = {}): ObjectInput => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name, labels },
});

const serviceAccount = (kind: Kind): ObjectInput => ({
  apiVersion: "v1",
  kind: "ServiceAccount",
  metadata: { name: "web", namespace: kind },
});

/** Returns the Service that the webhook is called as, with a port of this machine as its endpoint. */
function exposed(port: number): readonly ObjectInput[] {
  const ports = [{ name: "https-webhook", port: 443, protocol: "TCP" }];
  return [
    { apiVersion: "v1", kind: "Service", metadata: { name: "istiod", namespace: system }, spec: { ports } },
    {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { name: "istiod-1", namespace: system, labels: { "kubernetes.io/service-name": "istiod" } },
      addressType: "IPv4",
      endpoints: [{ addresses: ["127.0.0.1"] }],
      ports: [{ name: "https-webhook", port, protocol: "TCP" }],
    },
  ];
}

/** Returns the webhook of the chart, with istiod's self-signed root. */
async function webhook(client: ApiClient): Promise<ObjectInput> {
  const { data } = await client.json<{ readonly data: Readonly<Record<string, string>> }>({
    path: `/api/v1/namespaces/${system}/secrets/istio-ca-secret`,
  });
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
    metadata: { name: "istio-sidecar-injector" },
    webhooks: [
      {
        name: "namespace.sidecar-injector.istio.io",
        clientConfig: {
          service: { name: "istiod", namespace: system, path: "/inject", port: 443 },
          caBundle: data["ca-cert.pem"],
        },
        rules: [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] }],
        namespaceSelector: { matchLabels: { "istio-injection": "enabled" } },
        failurePolicy: "Fail",
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
      },
    ],
  };
}

if (values.help === true) console.log(usage);
else await runCommand("pod-creation", measure);
