import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { type ArrivalRow, type IssuanceRow, measureArrivals, measureIssuance } from "./certificates/measurements.js";
import type { Measured } from "./certificates/rig.js";
import { quantile } from "./fleet/step-report.js";
import { type Column, lines } from "./fleet/table.js";
import { positive, runCommand } from "./options.js";

const usage = `Usage: certificates [--count 2000] [--parallel 50] [--warm-up 500] [--agents 5000] [--only issuance|arrivals]

Measures istiod's certificate authority over TLS with bearer tokens, from another process. First --count certificates,
--parallel at once, from a self-signed and a plugged-in CA of three levels, whose keys and those of the requests are
P-256 or RSA 2048: on a connection for each certificate, and on four for all. Then --agents that arrive at once, each of
which wants a certificate and opens an xDS stream on a connection of its own, and the same without TLS and certificates.
Each measurement starts its own istiod with a mesh of 50 services. Exits with status 1 if a request fails.`;

const { values } = parseArgs({
  options: {
    help: { type: "boolean", short: "h" },
    count: { type: "string", default: "2000" },
    parallel: { type: "string", default: "50" },
    "warm-up": { type: "string", default: "500" },
    agents: { type: "string", default: "5000" },
    only: { type: "string" },
  },
});

const ms = (times: readonly number[], part: number): string =>
  times.length === 0
    ? "–"
    : quantile(
        times.toSorted((a, b) => a - b),
        part,
      ).toFixed(0);

const issuanceColumns: readonly Column<IssuanceRow>[] = [
  { head: "CA", of: ({ authority }) => authority, left: true },
  { head: "keys", of: ({ key }) => key, left: true },
  {
    head: "connections",
    of: ({ connections }) => (connections === "each" ? "one each" : String(connections)),
    left: true,
  },
  { head: "CPU ms each", of: ({ measured }) => ((1000 * measured.cpuSeconds) / issued(measured)).toFixed(2) },
  { head: "a CPU second", of: ({ measured }) => (issued(measured) / measured.cpuSeconds).toFixed(0) },
  { head: "a second", of: ({ measured }) => ((1000 * issued(measured)) / measured.elapsed).toFixed(0) },
  { head: "p50 ms", of: ({ measured }) => ms(measured.certificates, 0.5) },
  { head: "p99 ms", of: ({ measured }) => ms(measured.certificates, 0.99) },
  { head: "/ready max ms", of: ({ measured }) => measured.readyMs.toFixed(0) },
  { head: "load", of: ({ measured }) => measured.load.toFixed(1) },
];

const arrivalColumns: readonly Column<ArrivalRow>[] = [
  { head: "transport", of: ({ transport }) => transport, left: true },
  { head: "CPU s", of: ({ measured }) => measured.cpuSeconds.toFixed(1) },
  { head: "certificate p50 s", of: ({ measured }) => seconds(measured.certificates, 0.5) },
  { head: "p99 s", of: ({ measured }) => seconds(measured.certificates, 0.99) },
  { head: "configured p50 s", of: ({ measured }) => seconds(measured.configured, 0.5) },
  { head: "p99 s", of: ({ measured }) => seconds(measured.configured, 0.99) },
  { head: "peak RSS MB", of: ({ measured }) => (measured.peakRss / 1e6).toFixed(0) },
  { head: "/ready max ms", of: ({ measured }) => measured.readyMs.toFixed(0) },
  { head: "load", of: ({ measured }) => measured.load.toFixed(1) },
];

const seconds = (times: readonly number[], part: number): string =>
  times.length === 0
    ? "–"
    : quantile(
        times.toSorted((a, b) => a - b).map((time) => time / 1000),
        part,
      ).toFixed(1);

const issued = ({ certificates }: Measured): number => certificates.length;

async function measure(): Promise<boolean> {
  const [count, parallel, warmUp, agents] = (["count", "parallel", "warm-up", "agents"] as const).map((flag) =>
    positive(flag, values[flag]),
  ) as [number, number, number, number];
  const { only } = values;
  if (only !== undefined && only !== "issuance" && only !== "arrivals")
    throw new Error(`--only ${only}: expected issuance or arrivals`);
  const rows: { readonly measured: Measured }[] = [];
  const failures = (): boolean => {
    for (const { measured } of rows)
      for (const [reason, times] of Object.entries(measured.failures)) console.error(`! ${times} times: ${reason}`);
    return rows.some(({ measured }) => Object.keys(measured.failures).length > 0);
  };
  if (only !== "arrivals") {
    const issuance: IssuanceRow[] = [];
    await measureIssuance({ count, parallel, warmUp }, (row) => issuance.push(row));
    rows.push(...issuance);
    console.log(`${count} certificates, ${parallel} at once, on ${availableParallelism()} processors\n`);
    console.log(lines(issuanceColumns, issuance).join("\n"), "\n");
  }
  if (only !== "issuance") {
    const arrivals: ArrivalRow[] = [];
    await measureArrivals(agents, (row) => arrivals.push(row));
    rows.push(...arrivals);
    console.log(`${agents} agents at once, on ${availableParallelism()} processors\n`);
    console.log(lines(arrivalColumns, arrivals).join("\n"), "\n");
  }
  return !failures();
}

if (values.help === true) console.log(usage);
else await runCommand("certificates", measure);
