// Sends configuration of random objects to the gRPC libraries of this machine:
// `npm run random-objects -w tools/proxyless -- [--library NAME] [--rounds 20] [--services 30] [--seed 1]`.
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { positive, Random } from "@istiod/bench";
import { type Channel, type Program } from "./channel.js";
import { findLibrary, type Library, libraryNames } from "./libraries.js";
import { ProxylessMesh } from "./proxyless-mesh.js";
import { manifest, randomMesh } from "./random-mesh.js";

const { values } = parseArgs({
  options: {
    library: { type: "string", multiple: true },
    rounds: { type: "string", default: "20" },
    services: { type: "string", default: "30" },
    seed: { type: "string", default: "1" },
  },
});
const rounds = positive("rounds", values.rounds);
const services = positive("services", values.services);
const seed = positive("seed", values.seed);

/** Milliseconds of a call, and between the writing of objects and calls. */
const deadline = 3000;

let problems = 0;
for (const name of libraryNames) {
  if (values.library?.includes(name) === false) continue;
  let library: Library;
  try {
    library = await findLibrary(name);
  } catch (error) {
    console.log(`${name} is skipped: ${error instanceof Error ? error.message : String(error)}`);
    continue;
  }
  problems += await run(library);
}
process.exitCode = problems === 0 ? 0 : 1;

/** Runs all rounds with a library, and returns the number of problems. */
async function run(library: Library): Promise<number> {
  const mesh = await ProxylessMesh.start();
  const codes = new Map<number, number>();
  let found = 0;
  try {
    await mesh.serve(library, { name: "plain", at: 11 });
    const programs = await start(mesh, library);
    for (let round = 0; round < rounds; round++) {
      const random = new Random(seed * 10_000 + round);
      const { objects, services: called } = randomMesh(random, {
        namespace: "test",
        prefix: "s",
        addresses: [mesh.address(11), mesh.address(12), "127.0.0.1"],
        endpointPorts: [mesh.portAt(11)],
        services,
        isAlone: true,
      });
      await mesh.write("random", manifest(objects));
      await sleep(deadline);
      const targets = called.flatMap(({ host, ports }) => ports.map((port) => `xds:///${host}:${port}`));
      for (const [kind, channel] of Object.entries(programs.channels))
        for (const { code } of await channel.call({ targets, deadline }).catch(() => []))
          codes.set(code, (codes.get(code) ?? 0) + (kind === "plain" ? 1 : 0));
      const seen = problemsOf(mesh, programs);
      found += seen.length;
      for (const each of seen) console.log(`${library.name}, round ${round}: ${each}`);
      if (seen.some((each) => each.startsWith("ended"))) break;
    }
  } finally {
    await mesh.close();
  }
  const outcomes = [...codes].sort(([a], [b]) => a - b).map(([code, count]) => `${count} with code ${code}`);
  console.log(`${library.name}: ${rounds} rounds, ${found} problems; calls: ${outcomes.join(", ")}`);
  return found;
}

interface Programs {
  readonly channels: Readonly<Record<"plain" | "secure", Channel>>;
  readonly servers: readonly Program[];
  seen: number;
}

async function start(mesh: ProxylessMesh, library: Library): Promise<Programs> {
  return {
    channels: { plain: await mesh.client(library), secure: await mesh.client(library, { secure: true }) },
    servers: [
      await mesh.serve(library, { name: "server", at: 14, mode: "xds" }),
      await mesh.serve(library, { name: "server", at: 15, mode: "secure" }),
    ],
    seen: 0,
  };
}

/** Returns rejections that were not seen before, and programs that have ended. */
function problemsOf(mesh: ProxylessMesh, programs: Programs): readonly string[] {
  const { rejections } = mesh;
  const fresh = rejections.slice(programs.seen);
  programs.seen = rejections.length;
  const ended = [
    ...Object.values(programs.channels)
      .filter((channel) => channel.hasExited)
      .map(({ lastLines }) => lastLines),
    ...programs.servers.filter((server) => server.hasExited).map(({ lines }) => lines.slice(-20)),
  ];
  return [...fresh, ...ended.map((lines) => `ended: ${lines.join("\n  ")}`)];
}
