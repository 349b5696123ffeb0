import { writeSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { flags, type FlagValues, startDiscovery } from "@istiod/istiod";
import { pino } from "pino";

/** What the process of an istiod says of itself when it is asked. */
export interface ServerReport {
  /** Resident bytes, before anything was collected. */
  readonly rss: number;
  /** Bytes on the heap and in buffers; after garbage was collected if that was asked for. */
  readonly heap: number;
  readonly external: number;
  /** CPU seconds of the process since its start. */
  readonly cpuSeconds: number;
}

/** Serves a directory of YAML in this process, which was forked for it; answers each message with a {@link ServerReport}. */
export async function serveChurn(directory: string): Promise<void> {
  const defaults = Object.fromEntries(flags.map((flag) => [flag.name, typeof flag.default === "function" ? flag.default({}) : flag.default]));
  const values = { ...defaults, configDir: directory, meshConfig: "", networksConfig: "", grpcAddr: "127.0.0.1:0", secureGRPCAddr: "", httpAddr: "", httpsAddr: "", monitoringAddr: "", shutdownDuration: "0s" };
  const log = pino({ level: "error" }, { write: (line: string) => void writeSync(2, line) });
  const discovery = await startDiscovery(values as FlagValues, {}, log, "bench");
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  process.on("message", (message) => {
    const { rss } = process.memoryUsage();
    if (message === "collect") collect();
    const { heapUsed, external } = process.memoryUsage();
    const { user, system } = process.cpuUsage();
    process.send?.({ rss, heap: heapUsed, external, cpuSeconds: (user + system) / 1e6 } satisfies ServerReport);
  });
  process.on("disconnect", () => process.exit(0));
  process.send?.(discovery.addresses["grpcAddr"]);
}
