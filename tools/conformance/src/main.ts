import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { buildPrograms } from "./build-programs.js";
import { runSuite, type SuiteOptions } from "./run-suite.js";
import { type Channel, startMesh } from "./start-mesh.js";

const USAGE = `usage: npm run conformance -- [--report FILE] [--options FILE] [--channel standard|experimental]
                                [--only-start FILE | --kubeconfig FILE] [-- FLAGS OF THE SUITE]
  runs the conformance suite of the Gateway API against istiod, on an API server and nodes of this machine
  --report FILE      write the report
  --options FILE     options of the suite, in its own format, among them supportedFeatures; default: options.yaml
  --channel NAME     channel of the CustomResourceDefinitions; default: experimental
  --only-start FILE  start istiod, write the kubeconfig, and run until interrupted, without the suite
  --kubeconfig FILE  run the suite only, against the cluster of --only-start
`;

const OPTIONS = fileURLToPath(new URL("../options.yaml", import.meta.url));
const started = Date.now();
const report = (progress: string): void =>
  void process.stderr.write(`${Math.round((Date.now() - started) / 1000)} s: ${progress}\n`);

async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      report: { type: "string" },
      options: { type: "string", default: OPTIONS },
      channel: { type: "string", default: "experimental" },
      "only-start": { type: "string" },
      kubeconfig: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  const interrupted = interruption();
  report("building the suite");
  const programs = await buildPrograms();
  const options: SuiteOptions = {
    suite: programs.suite,
    optionsFile: fromCaller(values.options),
    flags: positionals,
    signal: interrupted,
    ...(values.report !== undefined && { report: fromCaller(values.report) }),
  };
  if (values.kubeconfig !== undefined) return await runSuite(await readFile(values.kubeconfig, "utf8"), options);
  const mesh = await startMesh(programs, channelOf(values.channel), report);
  try {
    report("istiod is ready");
    const file = values["only-start"];
    if (file === undefined) return await runSuite(mesh.kubeconfig, options);
    await writeFile(file, mesh.kubeconfig, { mode: 0o600 });
    await Promise.race([mesh.ended, once(interrupted, "abort")]);
    return 0;
  } finally {
    await mesh.stop();
  }
}

/** Returns a path as the caller of npm means it: npm runs commands in the folder of their package. */
function fromCaller(path: string): string {
  return resolve(process.env["INIT_CWD"] ?? "", path);
}

function channelOf(name: string): Channel {
  if (name !== "standard" && name !== "experimental")
    throw new Error(`--channel is ${name}: must be standard or experimental`);
  return name;
}

/** Returns a signal that is aborted by SIGINT, SIGTERM and SIGHUP. */
function interruption(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => controller.abort());
  return controller.signal;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`conformance: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
