import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { create, toBinary } from "@bufbuild/protobuf";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import type { ObjectInput } from "@istiod/kubernetes/testing";
import { Closers } from "@istiod/runtime";
import { type ControlPlane, startOriginal, startOurs } from "./apply-latency/control-plane.js";
import { grpcTypes, GrpcXdsClient } from "./client/grpc-xds-client.js";
import type { FilledServer } from "./cluster-costs/in-memory-server.js";
import { realServer } from "./cluster-costs/real-server.js";
import { type Figure, print } from "./measure.js";
import { Random } from "./mesh/random.js";
import { positive, runCommand } from "./options.js";
import { cpuSeconds, memory } from "./server/usage.js";

const usage = `Usage: proxyless [--original FILE] [--clients 2000] [--services 1000] [--names 5] [--changes 10]

Connects --clients gRPC clients, each of which requests the listeners, routes, clusters and endpoints of --names services
of --services at the API server of tools/cluster, and changes a weight of one VirtualService --changes times. Measures the
CPU of the control plane, and the bytes and responses that its clients receive.

--original FILE  Istio's pilot-discovery, measured after it with the same objects

Needs the API server (npm run cluster:install).`;

const { values } = parseArgs({
  options: {
    help: { type: "boolean", short: "h" },
    original: { type: "string" },
    clients: { type: "string", default: "2000" },
    services: { type: "string", default: "1000" },
    names: { type: "string", default: "5" },
    changes: { type: "string", default: "10" },
  },
});

/** Milliseconds for a response. */
const TIMEOUT_MS = 300_000;
/** A push has ended when no response came for this number of milliseconds. */
const QUIET_MS = 2000;
/** Number of clients that connect at the same time. */
const CONNECTING = 50;
const namespaces = 10;
const port = 7070;

interface Sizes {
  readonly clients: number;
  readonly services: number;
  readonly names: number;
  readonly changes: number;
}

const namespaceOf = (service: number): string => `shop-${service % namespaces}`;
const hostOf = (service: number): string => `service-${service}.${namespaceOf(service)}.svc.cluster.local`;

function objectsOf(service: number, weight: number): readonly ObjectInput[] {
  const [name, namespace, host] = [`service-${service}`, namespaceOf(service), hostOf(service)];
  const endpoint = (version: number): object => ({
    address: `10.${version}.${service >> 8}.${service & 255}`,
    labels: { version: `v${version}` },
  });
  const at = (kind: string, spec: object): ObjectInput => ({
    apiVersion: "networking.istio.io/v1",
    kind,
    metadata: { name, namespace },
    spec,
  });
  return [
    at("ServiceEntry", {
      hosts: [host],
      location: "MESH_INTERNAL",
      resolution: "STATIC",
      ports: [{ number: port, name: "grpc", protocol: "GRPC" }],
      endpoints: [1, 2].map(endpoint),
    }),
    at("DestinationRule", { host, subsets: [1, 2].map((n) => ({ name: `v${n}`, labels: { version: `v${n}` } })) }),
    at("VirtualService", {
      hosts: [host],
      http: [
        {
          route: [
            { destination: { host, subset: "v1" }, weight },
            { destination: { host, subset: "v2" }, weight: 100 - weight },
          ],
        },
      ],
    }),
  ];
}

/** Counts of what clients received. */
interface Traffic {
  bytes: number;
  responses: number;
  last: number;
}

/** Returns the services that each client names. */
function namedServices(sizes: Sizes): readonly (readonly number[])[] {
  const random = new Random(1);
  const all = Array.from({ length: sizes.services }, (_, n) => n);
  return Array.from({ length: sizes.clients }, () => random.shuffled(all).slice(0, sizes.names));
}

async function connectClients(plane: ControlPlane, sizes: Sizes, traffic: Traffic): Promise<readonly GrpcXdsClient[]> {
  const plans = namedServices(sizes).map((services, i) => ({ i, services }));
  const clients: GrpcXdsClient[] = [];
  const next = plans[Symbol.iterator]();
  await Promise.all(
    Array.from({ length: CONNECTING }, async () => {
      for (const { i, services } of next) {
        const client = new GrpcXdsClient(plane.port, nodeOf(i), "127.0.0.1", ({ bytes }) => {
          traffic.bytes += bytes;
          traffic.responses++;
          traffic.last = performance.now();
        });
        clients.push(client);
        const routes = services.map((n) => `outbound|${port}||${hostOf(n)}`);
        const subsets = services.flatMap((n) => ["v1", "v2"].map((v) => `outbound|${port}|${v}|${hostOf(n)}`));
        const names = { lds: services.map((n) => `${hostOf(n)}:${port}`), rds: routes, cds: subsets, eds: subsets };
        for (const type of ["lds", "rds", "cds", "eds"] as const)
          await client.subscribe(grpcTypes[type], names[type], TIMEOUT_MS);
        if (client.ended !== undefined) throw new Error(`a stream ended: ${client.ended}`);
      }
    }),
  );
  return clients;
}

function nodeOf(i: number): Uint8Array {
  const [address, namespace] = [`10.200.${i >> 8}.${i & 255}`, namespaceOf(i)];
  return toBinary(
    NodeSchema,
    create(NodeSchema, {
      id: `sidecar~${address}~client-${i}.${namespace}~${namespace}.svc.cluster.local`,
      metadata: { GENERATOR: "grpc", NAMESPACE: namespace, CLUSTER_ID: "Kubernetes", INSTANCE_IPS: address },
      locality: { region: "r1" },
      userAgentName: "gRPC Go",
      userAgentVersionType: { case: "userAgentVersion", value: "1.84.0" },
    }),
  );
}

/** Waits for a response after a number of them, which a busy control plane may send late. */
async function untilMore(traffic: Traffic, before: number): Promise<void> {
  const end = performance.now() + TIMEOUT_MS;
  while (traffic.responses <= before) {
    if (performance.now() > end) throw new Error(`no response to a change within ${TIMEOUT_MS / 1000} s`);
    await sleep(20);
  }
}

/** Waits until no response has come for a while. */
async function untilQuiet(traffic: Traffic): Promise<void> {
  traffic.last = performance.now();
  const end = traffic.last + TIMEOUT_MS;
  while (performance.now() - traffic.last < QUIET_MS) {
    if (performance.now() > end) throw new Error(`responses still come after ${TIMEOUT_MS / 1000} s`);
    await sleep(100);
  }
}

/** CPU seconds of a quiet time below which the control plane is idle: the garbage of connections is collected. */
const IDLE_SECONDS = 0.02;
/** Quiet times after which it is taken as it is. */
const MAX_QUIET_TIMES = 60;

/** Waits until the control plane is idle. Returns the CPU seconds of the last quiet time. */
async function untilIdle({ pid }: ControlPlane, traffic: Traffic): Promise<number> {
  let used = Infinity;
  for (let i = 0; i < MAX_QUIET_TIMES && used > IDLE_SECONDS; i++) {
    const from = cpuSeconds(pid);
    await untilQuiet(traffic);
    used = cpuSeconds(pid) - from;
  }
  return used;
}

async function measureChanges(
  what: string,
  plane: ControlPlane,
  server: FilledServer,
  sizes: Sizes,
  firstWeight: number,
): Promise<readonly Figure[]> {
  const traffic: Traffic = { bytes: 0, responses: 0, last: 0 };
  const before = cpuSeconds(plane.pid);
  const clients = await connectClients(plane, sizes, traffic);
  await untilQuiet(traffic);
  const connected = { cpu: cpuSeconds(plane.pid) - before, bytes: traffic.bytes };
  const rss = (await memory(plane.pid)).rss;
  const idle = await untilIdle(plane, traffic);
  Object.assign(traffic, { bytes: 0, responses: 0 });
  const start = cpuSeconds(plane.pid);
  const changed = [...new Set(namedServices(sizes).flat())].slice(0, sizes.changes);
  for (const [i, service] of changed.entries()) {
    const rule = objectsOf(service, firstWeight + (i % 40)).find(({ kind }) => kind === "VirtualService");
    if (rule === undefined) throw new Error("there is no VirtualService");
    const { responses } = traffic;
    await server.update(rule);
    await untilMore(traffic, responses);
    await untilQuiet(traffic);
  }
  const cpu = cpuSeconds(plane.pid) - start;
  for (const client of clients) client.close();
  return [
    { what, value: sizes.clients, unit: "clients" },
    { what: "  CPU to connect", value: connected.cpu, unit: "s" },
    { what: "  received to connect", value: connected.bytes / 2 ** 20, unit: "MiB" },
    { what: "  memory", value: rss / 2 ** 20, unit: "MiB" },
    { what: "  CPU of a change", value: (1000 * cpu) / sizes.changes, unit: "ms" },
    { what: "  of it while idle as long", value: 1000 * idle, unit: "ms" },
    { what: "  received for a change", value: traffic.bytes / sizes.changes / 1024, unit: "KiB" },
    { what: "  responses for a change", value: traffic.responses / sizes.changes, unit: "" },
  ];
}

async function measure(): Promise<boolean> {
  const { original } = values;
  const sizes: Sizes = {
    clients: positive("clients", values.clients),
    services: positive("services", values.services),
    names: positive("names", values.names),
    changes: positive("changes", values.changes),
  };
  const closers = new Closers();
  try {
    const work = await mkdtemp(join(tmpdir(), "istiod-proxyless-"));
    closers.defer(() => rm(work, { recursive: true, force: true }));
    const server = await realServer();
    closers.defer(() => server.stop());
    const kubeconfig = join(work, "kubeconfig");
    await writeFile(kubeconfig, server.kubeconfig, { mode: 0o600 });
    const names = ["istio-system", ...Array.from({ length: namespaces }, (_, n) => namespaceOf(n))];
    await server.create(names.map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })));
    await server.create(Array.from({ length: sizes.services }, (_, n) => objectsOf(n, 50)).flat());
    const subjects = [
      ["istiod", startOurs] as const,
      ...(original === undefined
        ? []
        : [
            [
              "pilot-discovery",
              (options: Parameters<typeof startOurs>[0]) => startOriginal(original, options),
            ] as const,
          ]),
    ];
    for (const [i, [name, start]] of subjects.entries()) {
      const plane = await start({ kubeconfig, work, debounce: "100ms" });
      try {
        print(`${name}: ${sizes.services} services, ${sizes.names} of them for each client`, [
          // Other weights than those before, which would change nothing.
          ...(await measureChanges(name, plane, server, sizes, 1 + 45 * i)),
          { what: "load of the machine", value: loadavg()[0] ?? NaN, unit: `on ${availableParallelism()} processors` },
        ]);
      } finally {
        await plane.stop();
      }
    }
    return true;
  } finally {
    await closers.close();
  }
}

if (values.help === true) console.log(usage);
else await runCommand("proxyless", measure);
