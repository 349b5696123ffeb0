import { readdir, readFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { Agent } from "node:http";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { fromJson, toBinary } from "@bufbuild/protobuf";
import { startEnvoyProcess } from "@istiod/e2e";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { findEnvoy } from "@istiod/envoy-binary";
import { type ApiClient, createApiClient, parseKubeconfig } from "@istiod/kubernetes";
import type { ObjectInput } from "@istiod/kubernetes/testing";
import { Closers } from "@istiod/runtime";
import { parseAllDocuments } from "yaml";
import { type ControlPlane, startOriginal, startOurs } from "./apply-latency/control-plane.js";
import {
  gatewayClass,
  gatewayObjects,
  type MeasuredGateway,
  namespace,
  nodeOfGateway,
  otherGateways,
  otherRoutes,
  routeOfVersion,
} from "./apply-latency/objects.js";
import { untilVersion } from "./apply-latency/version.js";
import { configuredProxy } from "./client/configured-proxy.js";
import { realServer } from "./cluster-costs/real-server.js";
import { percentiles } from "./injection/percentiles.js";
import { type Figure, print } from "./measure.js";
import { positive, runCommand } from "./options.js";
import { cpuSeconds } from "./server/usage.js";

const usage = `Usage: apply-latency --definitions FOLDER [--original FILE] [--rounds 50] [--routes 100] [--gateways 1]

Applies an HTTPRoute --rounds times at the API server of tools/cluster, and measures how long it takes until an Envoy that
is a gateway of the route serves it: from the answer of the API server to the first request that the new route answers.
There are --routes other routes, of --gateways Gateways in turns: the measured one and others, each with a simulated proxy.
Everything is measured with the default PILOT_DEBOUNCE_AFTER and with 0s, whose
difference is the share of the debounce.

--definitions FOLDER  CustomResourceDefinitions of the Gateway API, such as config/crd/standard of its sources
--original FILE       Istio's pilot-discovery, which reads the same API server and configures an Envoy of its own

Needs the API server (npm run cluster:install) and an Envoy (npm run envoy:install).`;

const { values } = parseArgs({
  options: {
    help: { type: "boolean", short: "h" },
    definitions: { type: "string" },
    original: { type: "string" },
    rounds: { type: "string", default: "50" },
    routes: { type: "string", default: "100" },
    gateways: { type: "string", default: "1" },
  },
});

/** A control plane with its gateway. */
interface Subject {
  readonly name: string;
  readonly gateway: MeasuredGateway;
  start(options: Parameters<typeof startOurs>[0]): Promise<ControlPlane>;
}

const ours: Subject = {
  name: "istiod",
  gateway: { name: "front-a", address: "10.9.0.1", port: 18_080 },
  start: startOurs,
};

function originalOf(binary: string): Subject {
  return {
    name: "pilot-discovery",
    gateway: { name: "front-b", address: "10.9.0.2", port: 18_081 },
    start: (options) => startOriginal(binary, options),
  };
}

/** Milliseconds within which a route must be served. */
const TIMEOUT_MS = 60_000;
/** Greatest number of milliseconds between rounds, so that the next one is a burst of its own. */
const PAUSE_MS = 500;

async function measure(): Promise<boolean> {
  const { definitions, original } = values;
  if (definitions === undefined) throw new Error("--definitions is required");
  const [rounds, routes] = [positive("rounds", values.rounds), positive("routes", values.routes)];
  const others = otherGateways(positive("gateways", values.gateways) - 1);
  const envoy = await findEnvoy();
  if (envoy === undefined) throw new Error("there is no Envoy: run `npm run envoy:install`");
  const subjects = [ours, ...(original === undefined ? [] : [originalOf(original)])];
  const closers = new Closers();
  try {
    const work = await mkdtemp(join(tmpdir(), "istiod-apply-latency-"));
    closers.defer(() => rm(work, { recursive: true, force: true }));
    const server = await realServer();
    closers.defer(() => server.stop());
    const client = createApiClient(await parseKubeconfig(server.kubeconfig), { qps: 10_000, burst: 10_000 });
    closers.defer(() => client.close());
    const kubeconfig = join(work, "kubeconfig");
    await writeFile(kubeconfig, server.kubeconfig, { mode: 0o600 });
    const gateways = subjects.map(({ gateway }) => gateway);
    await server.create(await definitionsIn(definitions));
    await server.create([
      ...["istio-system", namespace].map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })),
      gatewayClass,
      ...[...gateways, ...others].flatMap(gatewayObjects),
      ...otherRoutes([gateways, ...others.map((other) => [other])], routes),
    ]);
    for (const debounce of ["100ms", "0s"]) {
      const figures = await measureWith(debounce, { subjects, others, client, kubeconfig, work, envoy, rounds });
      const of = `${routes} others of ${others.length + 1} Gateways`;
      print(`HTTPRoutes with PILOT_DEBOUNCE_AFTER=${debounce}, ${of}`, figures);
    }
    return true;
  } finally {
    await closers.close();
  }
}

interface Setup {
  readonly subjects: readonly Subject[];
  /** Gateways with a simulated proxy at each control plane. */
  readonly others: readonly MeasuredGateway[];
  readonly client: ApiClient;
  readonly kubeconfig: string;
  readonly work: string;
  readonly envoy: string;
  readonly rounds: number;
}

let version = 0;

async function measureWith(debounce: string, setup: Setup): Promise<readonly Figure[]> {
  const { subjects, client, rounds } = setup;
  const closers = new Closers();
  try {
    const running = [];
    for (const subject of subjects) {
      const plane = await subject.start({ ...setup, debounce });
      closers.defer(() => plane.stop());
      const gateway = await startGateway(subject, plane, setup.envoy);
      closers.defer(() => gateway.kill());
      for (const other of setup.others) {
        const node = toBinary(NodeSchema, fromJson(NodeSchema, nodeOfGateway(other)));
        const proxy = await configuredProxy({ target: { host: "127.0.0.1", port: plane.port }, node });
        closers.defer(() => proxy.drop());
      }
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      closers.defer(() => agent.destroy());
      running.push({ subject, plane, agent, took: [] as number[], cpu: 0 });
    }
    const gateways = subjects.map(({ gateway }) => gateway);
    for (let round = -1; round < rounds; round++) {
      if (round === 0) for (const each of running) each.cpu = cpuSeconds(each.plane.pid);
      const next = ++version;
      const waits = running.map(({ subject, agent }) => untilVersion(subject.gateway.port, next, agent, TIMEOUT_MS));
      await apply(client, routeOfVersion(gateways, next));
      const applied = performance.now();
      const served = await Promise.all(waits);
      // The first round is that of the connections.
      if (round >= 0) for (const [i, each] of running.entries()) each.took.push((served[i] ?? NaN) - applied);
      await sleep(PAUSE_MS / 2 + (Math.random() * PAUSE_MS) / 2);
    }
    return [
      ...running.flatMap(({ subject, plane, took, cpu }) => [
        { what: subject.name, value: rounds, unit: "routes" },
        ...percentiles(took),
        { what: "  CPU", value: (1000 * (cpuSeconds(plane.pid) - cpu)) / rounds, unit: "ms a route" },
      ]),
      { what: "load of the machine", value: loadavg()[0] ?? NaN, unit: `on ${availableParallelism()} processors` },
    ];
  } finally {
    await closers.close();
  }
}

/** Starts the Envoy of a subject's gateway. */
async function startGateway({ gateway }: Subject, { port }: ControlPlane, binary: string) {
  return await startEnvoyProcess({
    binary,
    address: `127.${gateway.address.slice("10.".length)}`,
    xds: { host: "127.0.0.1", port },
    node: nodeOfGateway(gateway),
  });
}

/** Applies an object as `kubectl apply --server-side` does. */
async function apply(client: ApiClient, object: ObjectInput): Promise<void> {
  const { name, namespace: of } = object.metadata;
  await client.json({
    method: "PATCH",
    path: `/apis/gateway.networking.k8s.io/v1/namespaces/${of}/httproutes/${name}`,
    query: { fieldManager: "apply-latency", force: true },
    contentType: "application/apply-patch+yaml",
    body: JSON.stringify(object),
  });
}

async function definitionsIn(folder: string): Promise<readonly ObjectInput[]> {
  const names = (await readdir(folder)).filter((name) => name.startsWith("gateway."));
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
  return texts
    .flatMap((text) => parseAllDocuments(text).map((document) => document.toJS() as ObjectInput | null))
    .filter((object) => object?.kind === "CustomResourceDefinition") as ObjectInput[];
}

if (values.help === true) console.log(usage);
else await runCommand("apply-latency", measure);
