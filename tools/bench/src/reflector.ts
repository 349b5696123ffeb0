import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { parseArgs } from "node:util";
import { fieldsOf, kubernetesKinds } from "@istiod/config-schema";
import { positive, runCommand } from "./options.js";
import type { FollowedType, FollowerOptions, FollowerReport, Program } from "./reflector/follower.js";
import type { ServerMessage, ServerOptions } from "./reflector/server.js";

const usage = `Usage: reflector [--pods 10000] [--slices 1000] [--rounds 3] [--server memory|cluster]

Lists Pods and EndpointSlices, with the fields that istiod reads, and keeps them: by reflectors, and by informers of @kubernetes/client-node, in turns.
Each runs alone in a new process, against an API server in another one: memory is the one of @istiod/kubernetes/testing, cluster that of @istiod/cluster.

Reports the least of all rounds: what else the machine does only adds. Exit status 1 if objects are missing.`;

const { values } = parseArgs({
  options: {
    help: { type: "boolean", short: "h" },
    pods: { type: "string", default: "10000" },
    slices: { type: "string", default: "1000" },
    rounds: { type: "string", default: "3" },
    server: { type: "string", default: "memory" },
  },
});

const types: readonly FollowedType[] = [followed("Pod", "pods"), followed("EndpointSlice", "endpointslices")];

type Reports = Record<Program, FollowerReport[]>;

async function compare(): Promise<boolean> {
  const [pods, slices, rounds] = (["pods", "slices", "rounds"] as const).map((flag) =>
    positive(flag, values[flag]),
  ) as [number, number, number];
  const { server } = values;
  if (server !== "memory" && server !== "cluster") throw new Error(`--server ${server}: expected memory or cluster`);
  const serverProcess = fork(new URL("../dist/reflector/server.js", import.meta.url));
  try {
    const { access } = await ask<ServerMessage>(serverProcess, { pods, slices, server } satisfies ServerOptions);
    const reports: Reports = { reflector: [], informer: [] };
    for (let round = 0; round < rounds; round++) {
      for (const program of ["reflector", "informer"] as const)
        reports[program].push(await follow({ program, access, types }));
    }
    print(`${pods} Pods and ${slices} EndpointSlices, server: ${server}, rounds: ${rounds}`, reports);
    const isComplete = [...reports.reflector, ...reports.informer].every(({ objects }) => objects === pods + slices);
    if (!isComplete) console.error("reflector: objects are missing");
    return isComplete;
  } finally {
    serverProcess.disconnect();
  }
}

/** Returns a type with the fields that istiod reads. */
function followed(name: string, plural: string): FollowedType {
  const kind = kubernetesKinds.find((declared) => declared.kind === name);
  if (kind === undefined) throw new Error(`no kind ${name}`);
  const resource = { group: kind.group, version: "v1", kind: name, plural, namespaced: true };
  return { resource, fields: fieldsOf(kind) };
}

async function follow(options: FollowerOptions): Promise<FollowerReport> {
  const child = fork(new URL("../dist/reflector/follower.js", import.meta.url));
  try {
    return await ask<FollowerReport>(child, options);
  } finally {
    child.disconnect();
    await once(child, "exit");
  }
}

/** Sends options to a process, and returns its answer. */
async function ask<T extends { readonly error?: string }>(child: ChildProcess, options: object): Promise<T> {
  child.send(options);
  const ended = once(child, "exit").then(() => ({ error: "the process has ended" }));
  const [answer] = (await Promise.race([once(child, "message"), ended.then((error) => [error])])) as [T];
  if (answer.error !== undefined) throw new Error(answer.error);
  return answer;
}

function print(title: string, { reflector, informer }: Reports): void {
  const least = (reports: readonly FollowerReport[], figure: (report: FollowerReport) => number): number =>
    Math.min(...reports.map(figure));
  const figures: readonly [string, (report: FollowerReport) => number][] = [
    ["CPU s", ({ cpuSeconds }) => cpuSeconds],
    ["of which before the first request", ({ startSeconds }) => startSeconds],
    ["peak RSS MB", ({ peakBytes }) => peakBytes / 1e6],
    ["longest stall ms", ({ stallMs }) => stallMs],
    ["time to sync s", ({ syncSeconds }) => syncSeconds],
  ];
  console.log(`${title}\n\n${" ".repeat(34)}  reflector   informer   ratio`);
  for (const [name, figure] of figures) {
    const [ours, theirs] = [least(reflector, figure), least(informer, figure)];
    const cells = [ours.toPrecision(3), theirs.toPrecision(3)].map((cell) => cell.padStart(9)).join("  ");
    console.log(`${name.padEnd(34)}  ${cells}  ${(ours / theirs).toFixed(3).padStart(6)}`);
  }
  console.log(`\n${JSON.stringify({ title, reflector, informer })}`);
}

if (values.help === true) console.log(usage);
else await runCommand("reflector", compare);
