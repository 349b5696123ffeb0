import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { toBinary } from "@bufbuild/protobuf";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { Closers } from "@istiod/runtime";
import { type ControlPlane, startOriginal, startOurs } from "./apply-latency/control-plane.js";
import { SimulatedProxy } from "./client/simulated-proxy.js";
import { inputOf } from "./cluster-costs/object-input.js";
import type { FilledServer } from "./cluster-costs/in-memory-server.js";
import { realServer } from "./cluster-costs/real-server.js";
import { type Figure, print } from "./measure.js";
import { change } from "./mesh/changes.js";
import { Mesh } from "./mesh/mesh.js";
import { nodeOf } from "./mesh/proxies.js";
import { positive, runCommand } from "./options.js";
import { cpuSeconds, memory } from "./server/usage.js";

const usage = `Usage: envoy-filters-servers [--original FILE] [--services 1000] [--proxies 500] [--changes 3] [--unscoped]

Connects --proxies proxies of a mesh with 20 EnvoyFilters at the API server of tools/cluster, and changes a weight
--changes times. Measures the CPU of the control plane.

--original FILE  Istio's pilot-discovery, measured after it with the same objects
--unscoped       without a Sidecar for each namespace

Needs the API server (npm run cluster:install).`;

const { values } = parseArgs({
  options: {
    help: { type: "boolean", short: "h" },
    original: { type: "string" },
    services: { type: "string", default: "1000" },
    proxies: { type: "string", default: "500" },
    changes: { type: "string", default: "3" },
    unscoped: { type: "boolean", default: false },
  },
});

/** Milliseconds within which all proxies must have their resources, or a change must arrive. */
const TIMEOUT_MS = 1_200_000;
/** A push has ended when no response came for this number of milliseconds. */
const QUIET_MS = 3000;
/** Number of proxies that connect at the same time. */
const CONNECTING = 25;

/** Counts of what proxies received. */
interface Traffic {
  bytes: number;
  responses: number;
  broken: number;
  last: number;
}

async function until(what: string, done: () => boolean): Promise<void> {
  for (const end = performance.now() + TIMEOUT_MS; !done(); await sleep(50))
    if (performance.now() > end) throw new Error(`${what} took more than ${TIMEOUT_MS / 1000} s`);
}

async function connect({ port }: ControlPlane, mesh: Mesh, traffic: Traffic): Promise<readonly SimulatedProxy[]> {
  const received = (message: Uint8Array): void => {
    traffic.bytes += message.length;
    traffic.responses++;
    traffic.last = performance.now();
  };
  const broken = (): void => void traffic.broken++;
  const target = { host: "127.0.0.1", port };
  const proxies = mesh.proxies().map((place) => {
    const node = toBinary(NodeSchema, nodeOf(place));
    return new SimulatedProxy({ target, variant: "delta", node, events: { received, broken } });
  });
  const next = proxies[Symbol.iterator]();
  await Promise.all(
    Array.from({ length: CONNECTING }, async () => {
      for (const proxy of next) {
        proxy.connect();
        await until("a connect", () => proxy.complete);
      }
    }),
  );
  return proxies;
}

async function measureServer(
  plane: ControlPlane,
  server: FilledServer,
  mesh: Mesh,
  changes: number,
): Promise<readonly Figure[]> {
  const traffic: Traffic = { bytes: 0, responses: 0, broken: 0, last: performance.now() };
  const quiet = (): boolean => performance.now() - traffic.last > QUIET_MS;
  const atStart = cpuSeconds(plane.pid);
  const proxies = await connect(plane, mesh, traffic);
  await until("the connect", quiet);
  const connected = { cpu: cpuSeconds(plane.pid) - atStart, bytes: traffic.bytes };
  const { peak } = memory(plane.pid);
  const before = cpuSeconds(plane.pid);
  const { responses } = traffic;
  for (let i = 0; i < changes; i++) {
    const known = traffic.responses;
    for (const object of change(mesh, "weight", 7).put) await server.update(inputOf(object));
    await until("a change", () => traffic.responses > known);
    await until("a push", quiet);
  }
  const cpu = cpuSeconds(plane.pid) - before;
  for (const proxy of proxies) proxy.drop();
  return [
    { what: "CPU to connect", value: connected.cpu, unit: "s" },
    { what: "received to connect", value: connected.bytes / 2 ** 20, unit: "MiB" },
    { what: "peak memory", value: peak / 2 ** 20, unit: "MiB" },
    { what: "streams that broke", value: traffic.broken, unit: "" },
    { what: "CPU of a weight change", value: cpu / changes, unit: "s" },
    { what: "responses to a weight change", value: (traffic.responses - responses) / changes, unit: "" },
    { what: "load of the machine", value: loadavg()[0] ?? NaN, unit: `on ${availableParallelism()} processors` },
  ];
}

async function measure(): Promise<boolean> {
  const { original } = values;
  const mesh = new Mesh({
    services: positive("services", values.services),
    proxies: positive("proxies", values.proxies),
    namespaces: 20,
    endpoints: 2,
    gatewayRoutes: 50,
    scoped: values.unscoped ? 0 : 1,
    seed: 1,
    envoyFilters: true,
  });
  const changes = positive("changes", values.changes);
  const closers = new Closers();
  try {
    const work = await mkdtemp(join(tmpdir(), "istiod-envoy-filters-"));
    closers.defer(() => rm(work, { recursive: true, force: true }));
    const server = await realServer();
    closers.defer(() => server.stop());
    const kubeconfig = join(work, "kubeconfig");
    await writeFile(kubeconfig, server.kubeconfig, { mode: 0o600 });
    await server.create(mesh.objects().map(inputOf));
    const subjects: (readonly [string, (options: Parameters<typeof startOurs>[0]) => Promise<ControlPlane>])[] = [
      ["istiod", startOurs],
    ];
    if (original !== undefined) subjects.push(["pilot-discovery", (options) => startOriginal(original, options)]);
    for (const [name, start] of subjects) {
      const plane = await start({ kubeconfig, work, debounce: "100ms" });
      try {
        print(`${name}: ${values.services} services, ${values.proxies} proxies, 20 EnvoyFilters`, [
          ...(await measureServer(plane, server, mesh, changes)),
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
else await runCommand("envoy-filters-servers", measure);
