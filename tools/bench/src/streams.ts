import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import { parseArgs } from "node:util";
import { toBinary } from "@bufbuild/protobuf";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import type { Variant } from "@istiod/xds-server";
import { FleetPart, progressBytes, readProgress } from "./fleet/part.js";
import { type Figure, print } from "./measure.js";
import { Mesh } from "./mesh/mesh.js";
import { nodeOf } from "./mesh/proxies.js";
import { positive, runCommand } from "./options.js";
import type { ClassServerMessage, ClassServerOptions } from "./server/class-server.js";
import { cpuSeconds } from "./server/usage.js";

const usage = `Usage: streams [--proxies 500] [--namespaces 20] [--clusters 200] [--rounds 6] [--mode delta]

Measures the CPU cost of a stream at a server with precomputed resources: opening it, reading requests, sending responses, and closing it. In each
round a new fleet connects, disconnects, and reconnects with its versions. Reports the first round, before code is compiled, and the minimum of the others.`;

const { values } = parseArgs({
  options: {
    help: { type: "boolean", short: "h" },
    proxies: { type: "string", default: "500" },
    namespaces: { type: "string", default: "20" },
    clusters: { type: "string", default: "200" },
    rounds: { type: "string", default: "6" },
    mode: { type: "string", default: "delta" },
  },
});

const file = new URL("../dist/server/class-server.js", import.meta.url);
const quietMs = 300;
const patienceMs = 120_000;

async function ask(child: ChildProcess, message: unknown): Promise<ClassServerMessage> {
  child.send(message as ClassServerOptions);
  const [answer] = (await once(child, "message")) as [ClassServerMessage];
  return answer;
}

async function connections(child: ChildProcess): Promise<number> {
  const answer = await ask(child, "connections");
  return "connections" in answer ? answer.connections : 0;
}

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const limit = performance.now() + patienceMs;
  while (!(await holds())) {
    if (performance.now() > limit) throw new Error(`${what}: not after ${patienceMs} ms`);
    await wait(20);
  }
}

async function streams(): Promise<boolean> {
  const [proxies, namespaces, clusters, rounds] = (["proxies", "namespaces", "clusters", "rounds"] as const).map(
    (flag) => positive(flag, values[flag]),
  ) as [number, number, number, number];
  const variant: Variant = values.mode === "sotw" ? "sotw" : "delta";
  const mesh = new Mesh({ services: proxies, namespaces, endpoints: 1, proxies, gatewayRoutes: 0, seed: 1 });
  const members = mesh.proxies().map((place) => ({ node: toBinary(NodeSchema, nodeOf(place)) }));
  const child = fork(file, { execArgv: process.env["SERVER_NODE_FLAGS"]?.split(" ") ?? [] });
  try {
    const listening = await ask(child, { namespaces: mesh.namespaces, clusters } satisfies ClassServerOptions);
    if (!("port" in listening)) throw new Error("the server does not listen");
    const pid = child.pid ?? 0;
    const fresh: number[] = [];
    const returning: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const progress = new SharedArrayBuffer(progressBytes);
      const fleet = new FleetPart({ target: { host: "127.0.0.1", port: listening.port }, variant, members, progress });
      for (const list of [fresh, returning]) {
        fleet.reset(true);
        const before = cpuSeconds(pid);
        fleet.connect();
        await until("all proxies have what they need", () => readProgress(progress).complete === members.length);
        await until(
          "silence",
          () => performance.timeOrigin + performance.now() > readProgress(progress).activeAt + quietMs,
        );
        const { broken, incomplete } = fleet.report();
        if (incomplete > 0 || Object.keys(broken).length > 0)
          throw new Error(`${incomplete} proxies lack something; streams that broke: ${JSON.stringify(broken)}`);
        fleet.drop();
        await until("all streams are closed", async () => (await connections(child)) === 0);
        list.push(((cpuSeconds(pid) - before) * 1e6) / members.length);
      }
    }
    const of = (what: string, [first = NaN, ...others]: readonly number[]): Figure[] => [
      { what: `${what}: first time`, value: first, unit: "µs of CPU a stream" },
      { what: `${what}: least of ${others.length}`, value: Math.min(...others), unit: "µs of CPU a stream" },
    ];
    print(`${members.length} streams, ${variant}, ${clusters} clusters each in ${namespaces} classes`, [
      ...of("connects", fresh),
      ...of("returns", returning),
    ]);
    return true;
  } finally {
    child.disconnect();
  }
}

if (values.help === true) console.log(usage);
else await runCommand("streams", streams);
