import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { openFilesIn } from "@istiod/runtime";
import { expect, onTestFinished, test, vi } from "vitest";
import { folder } from "./serving.js";

const until = { timeout: 60_000, interval: 50 };
/** The command, in one file: loading many needs more open files than the tests allow. */
const command = join(createRequire(import.meta.url).resolve("@istiod/istiod/package.json"), "../bin/istiod.js");

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

interface Started {
  readonly process: ChildProcess;
  readonly ports: Readonly<Record<"grpc" | "http" | "monitoring", number>>;
  readonly output: () => string;
}

/** Starts an istiod that may open `files` files. */
async function start(files: number): Promise<Started> {
  const configDir = await folder({ "a.yaml": "" });
  const ports = { grpc: await freePort(), http: await freePort(), monitoring: await freePort() };
  const flags = [
    `--configDir=${configDir}`,
    `--grpcAddr=127.0.0.1:${ports.grpc}`,
    `--httpAddr=127.0.0.1:${ports.http}`,
    `--monitoringAddr=127.0.0.1:${ports.monitoring}`,
    ...["secureGRPCAddr", "httpsAddr"].map((flag) => `--${flag}=`),
    "--ctrlz_port=0",
  ];
  const istiod = [process.execPath, command, "discovery", ...flags];
  const child = spawn("sh", ["-c", 'ulimit -n "$1"; shift; exec "$@"', "sh", `${files}`, ...istiod]);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (output += String(text)));
  onTestFinished(() => void child.kill("SIGKILL"));
  const ready = `http://127.0.0.1:${ports.http}/ready`;
  await vi.waitFor(async () => expect((await fetch(ready)).status).toBe(200), until);
  return { process: child, ports, output: () => output };
}

/** Opens connections that stay open until the test has ended, whether they are accepted or not. */
function open(port: number, count: number): Socket[] {
  return Array.from({ length: count }, () => {
    const socket = connect(port, "127.0.0.1").on("error", () => undefined);
    onTestFinished(() => void socket.destroy());
    return socket;
  });
}

test.for([64, 160, 320])(
  "an istiod that may open %i files survives more connections than that, and serves others meanwhile",
  { timeout: 120_000 },
  async (files, { skip }) => {
    skip(process.platform !== "linux", "limits of a process are read on Linux only");
    const { process: child, ports, output } = await start(files);
    expect(openFilesIn(readFileSync(`/proc/${child.pid}/limits`, "utf8"))).toBe(files);
    const sockets = Object.values(ports).flatMap((port) => open(port, files * 2));
    // The memory is measured every second, and the metrics read files.
    const end = Date.now() + 3000;
    await vi.waitFor(() => expect(Date.now()).toBeGreaterThan(end), until);
    const metrics = (): Promise<Response> => fetch(`http://127.0.0.1:${ports.monitoring}/metrics`);
    expect((await metrics()).status).toBe(200);
    expect(child.exitCode).toBe(null);
    for (const socket of sockets) socket.destroy();
    await vi.waitFor(async () => expect(await (await metrics()).text()).toContain("istiod_memory_pressure 0"), until);
    expect(output()).not.toContain("EMFILE");
    expect(output()).toContain("the limits of connections are lowered");
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
  },
);
