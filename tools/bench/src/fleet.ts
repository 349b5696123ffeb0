import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { runFleet, type RunningIstiod } from "./fleet/run.js";
import { parseScript } from "./fleet/script.js";
import { failures, type StepReport } from "./fleet/step-report.js";
import { lines, profileColumns, stepColumns, title } from "./fleet/table.js";
import { meshFlags, meshOptions, meshUsage, positive, runCommand } from "./options.js";

const usage = `Usage: fleet [flags]

Serves a synthetic mesh to thousands of simulated proxies, and measures the cost of changes.

${meshUsage}
  --mode delta       or sotw
  --script STEPS     NAME[@INDEX][*COUNT],...: connect, idle, reconnect, restart (of istiod), and changes: metadata, endpoint, weight, rule, policy, mtls,
                     gateway-route, service-add, service-del, service-alone, pod, scale, ready
                     (default connect,idle,metadata,endpoint,weight,rule,policy,gateway-route,pod,service-add,service-del,reconnect)
  --threads 1        threads that simulate the proxies; 0: the main one
  --tls              xDS over TLS, with a bearer token for each service account
  --gzip             proxies that accept compressed responses; use --threads 8 for 500 of them, or streams time out
  --ports XDS,HTTP   ports of istiod on 127.0.0.1 (default: free ports)
  --profile          profile the CPU of istiod with Linux perf; the JSON lists the most expensive functions
  --quiet 1000       milliseconds without traffic that end a step
  --json FILE        write the result as JSON; -: to standard output instead of the table
  --istiod URL       debug address of a running istiod to use; requires
  --xds HOST:PORT --pid PID --dir DIR
                     its plaintext xDS address, process ID, and empty configuration directory

Exits with status 1 if a proxy did not receive the resources that it needs, a stream broke, or istiod's account of a step differs from the proxies'.`;

const { values } = parseArgs({
  options: {
    help: { type: "boolean", short: "h" },
    ...meshFlags,
    mode: { type: "string", default: "delta" },
    script: {
      type: "string",
      default: "connect,idle,metadata,endpoint,weight,rule,policy,gateway-route,pod,service-add,service-del,reconnect",
    },
    threads: { type: "string", default: "1" },
    tls: { type: "boolean", default: false },
    gzip: { type: "boolean", default: false },
    profile: { type: "boolean", default: false },
    ports: { type: "string" },
    quiet: { type: "string", default: "1000" },
    json: { type: "string" },
    istiod: { type: "string" },
    xds: { type: "string" },
    pid: { type: "string" },
    dir: { type: "string" },
  },
});

function attached(): RunningIstiod | undefined {
  if (values.istiod === undefined) return undefined;
  const { xds, pid, dir } = values;
  const [, host = "", port = ""] = /^(.+):(\d+)$/.exec(xds ?? "") ?? [];
  if (host === "" || pid === undefined || dir === undefined)
    throw new Error("--istiod needs --xds HOST:PORT, --pid and --dir");
  return { http: values.istiod, xds: { host, port: Number(port) }, pid: positive("pid", pid), directory: dir };
}

function ports(): readonly [number, number] | undefined {
  if (values.ports === undefined) return undefined;
  const [xds, http] = values.ports.split(",").map((port) => positive("ports", port));
  if (xds === undefined || http === undefined) throw new Error(`--ports ${values.ports}: expected two`);
  return [xds, http];
}

async function main(): Promise<boolean> {
  if (values.mode !== "delta" && values.mode !== "sotw")
    throw new Error(`--mode ${values.mode}: expected delta or sotw`);
  const table = values.json !== "-";
  const show = (step: StepReport): void => {
    if (!table) return;
    console.error(`${step.name}: ${step.what}, ${(step.wallMs / 1000).toFixed(1)} s`);
  };
  const report = await runFleet({
    mesh: meshOptions(values),
    variant: values.mode,
    script: parseScript(values.script),
    threads: values.threads === "0" ? 0 : positive("threads", values.threads),
    tls: values.tls,
    gzip: values.gzip,
    profile: values.profile,
    ports: ports(),
    quietMs: positive("quiet", values.quiet),
    istiod: attached(),
    onStep: show,
  });
  const failed = report.steps.flatMap(failures);
  const json = JSON.stringify({ ...report, failures: failed }, undefined, 1);
  if (table)
    for (const line of [
      title(report),
      "",
      ...lines(stepColumns, report.steps),
      ...(values.profile ? ["", ...lines(profileColumns, report.steps)] : []),
      ...(failed.length > 0 ? ["", ...failed.map((text) => `! ${text}`)] : []),
    ])
      console.log(line);
  else console.log(json);
  if (values.json !== undefined && values.json !== "-") await writeFile(values.json, json);
  return failed.length === 0;
}

if (values.help) console.log(usage);
else await runCommand("fleet", main);
