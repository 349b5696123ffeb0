import { type ChildProcess, execFileSync, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type ClientHttp2Session, connect } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { create, toBinary } from "@bufbuild/protobuf";
import { DeltaDiscoveryRequestSchema } from "@istiod/envoy-api/envoy/service/discovery/v3/discovery";
import { clusterType } from "@istiod/xds-server";
import { type Figure, print } from "./measure.js";
import { positive, runCommand } from "./options.js";
import type { LargeServerMessage, LargeServerOptions } from "./server/large-server.js";
import { cpuSeconds, memory, resetPeak } from "./server/usage.js";

const usage = `Usage: tls [--proxies 100] [--resources 4000] [--rounds 3]

Compares xDS over TLS with plaintext: all proxies connect to one server and receive a response of 2 KiB for each resource, in turns over plaintext and
over TLS. Reports the CPU time of the server in the cheapest round of each, their ratio, and the memory that a round over TLS adds. Needs openssl.`;

const { values } = parseArgs({
  options: {
    help: { type: "boolean", short: "h" },
    proxies: { type: "string", default: "100" },
    resources: { type: "string", default: "4000" },
    rounds: { type: "string", default: "3" },
  },
});

const serverFile = new URL("../dist/server/large-server.js", import.meta.url);
const path = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";
const windowBytes = 1024 * 1024;

async function compare(): Promise<boolean> {
  const [proxies, resources, rounds] = (["proxies", "resources", "rounds"] as const).map((flag) =>
    positive(flag, values[flag]),
  ) as [number, number, number];
  const child = fork(serverFile);
  try {
    child.send({ resources, tls: selfSigned() } satisfies LargeServerOptions);
    const [ports] = (await once(child, "message")) as [LargeServerMessage];
    const seconds = { plaintext: [] as number[], tls: [] as number[] };
    const peaks = { plaintext: 0, tls: 0 };
    for (let round = 0; round < rounds; round++) {
      for (const kind of ["plaintext", "tls"] as const) {
        const target = kind === "tls" ? `https://127.0.0.1:${ports.tls}` : `http://127.0.0.1:${ports.plaintext}`;
        const used = await measure(child, target, proxies, resources * 2000);
        seconds[kind].push(used.seconds);
        peaks[kind] = Math.max(peaks[kind], used.peak);
      }
    }
    const [plaintext, tls] = [Math.min(...seconds.plaintext), Math.min(...seconds.tls)];
    print(`${proxies} proxies, each with a response of ${Math.round((resources * 2048) / 1e6)} MB`, [
      { what: "plaintext", value: plaintext, unit: "CPU s" },
      { what: "TLS", value: tls, unit: "CPU s" },
      { what: "TLS to plaintext", value: tls / plaintext, unit: "" },
      { what: "peak memory in plaintext", value: peaks.plaintext / 1e6, unit: "MB" },
      { what: "peak memory over TLS", value: peaks.tls / 1e6, unit: "MB" },
    ] satisfies Figure[]);
    return true;
  } finally {
    child.disconnect();
  }
}

/** Connects all proxies at once, and disconnects them when each has received its response. */
async function measure(child: ChildProcess, target: string, proxies: number, bytes: number) {
  const pid = child.pid ?? 0;
  resetPeak(pid);
  const before = cpuSeconds(pid);
  const sessions = await Promise.all(Array.from({ length: proxies }, (_, i) => receive(target, `proxy-${i}`, bytes)));
  const used = { seconds: cpuSeconds(pid) - before, peak: memory(pid).peak };
  await Promise.all(sessions.map((session) => new Promise<void>((resolve) => session.close(resolve))));
  return used;
}

/** Resolves when a new proxy has received at least so many bytes. */
function receive(target: string, id: string, bytes: number): Promise<ClientHttp2Session> {
  const session = connect(target, { rejectUnauthorized: false, settings: { initialWindowSize: windowBytes } });
  session.once("connect", () => session.setLocalWindowSize(windowBytes));
  const stream = session.request({
    ":method": "POST",
    ":path": path,
    "content-type": "application/grpc",
    te: "trailers",
  });
  const request = toBinary(
    DeltaDiscoveryRequestSchema,
    create(DeltaDiscoveryRequestSchema, { node: { id }, typeUrl: clusterType }),
  );
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(request.length, 1);
  stream.write(Buffer.concat([prefix, request]));
  return new Promise((resolve, reject) => {
    let received = 0;
    session.once("error", reject);
    stream.once("error", reject);
    stream.on("data", (chunk: Buffer) => {
      if ((received += chunk.length) < bytes) return;
      stream.removeAllListeners("data").resume().close();
      resolve(session);
    });
  });
}

function selfSigned(): { cert: string; key: string } {
  const directory = mkdtempSync(join(tmpdir(), "bench-tls-"));
  try {
    const [cert, key] = [join(directory, "cert.pem"), join(directory, "key.pem")];
    const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-keyout", key];
    execFileSync("openssl", ["req", "-x509", "-nodes", ...newKey, "-out", cert, "-subj", "/CN=bench", "-days", "2"], {
      stdio: "ignore",
    });
    return { cert: readFileSync(cert, "utf8"), key: readFileSync(key, "utf8") };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

if (values.help === true) console.log(usage);
else await runCommand("tls", compare);
