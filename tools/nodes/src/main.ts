import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { createApiClient, parseKubeconfig } from "@istiod/kubernetes";
import { readImages } from "./agent/images.js";
import { readCniPlugin } from "./network/cni-plugin.js";
import { nodesUnavailable } from "./nodes-unavailable.js";
import { runEcho } from "./programs/echo.js";
import { printPodStartup } from "./pod-startup/print-pod-startup.js";
import { printLogs } from "./print-logs.js";
import { installBookinfo } from "./sample/install-bookinfo.js";
import { sampleUnavailable } from "./sample-unavailable.js";
import { printMigration } from "./migration/print-migration.js";
import { type NodesOptions, startNodes } from "./start-nodes.js";
import { printVerdicts } from "./verdicts/print-verdicts.js";

const USAGE = `usage: istiod-nodes run --kubeconfig FILE [--nodes N] [--images FILE] [--cni FILE] [--sample bookinfo] [--watch-stdin] |
                    check [--sample bookinfo] | logs [--namespace NS] [-c NAME] POD | verdicts [--only TEXT] |
                    migration --charts FOLDER [--requests N] [--rate N] | pod-startup [--image NAME]... [--pods N] | echo
  run   run the pods of the API server of a kubeconfig until it is interrupted; with --sample, install the charts, an
        ingress gateway and Bookinfo; with --watch-stdin, end at the end of the standard input
  check exit with 1 and the reason if nodes, or the sample, cannot run on this machine
  logs  print the logs of a container
  verdicts
        apply good and bad objects to Bookinfo, ask \`istiod status --wait\` for each, and exit with 1 if an answer is wrong;
        KUBECONFIG must name the kubeconfig of a cluster whose nodes run on this machine
  migration
        install this istiod beside the original's, which is the image pilot-original, and move namespace after namespace
        to it and back while N requests pass (default 100,000 at 100 a second); exit with 1 if one fails; FOLDER is
        manifests/charts of Istio's repository, and KUBECONFIG as above
  pod-startup
        install istiod, create N injected Pods with each image of the proxy, and print the time until they are ready
  echo  run the server of the image echo: [--http PORT]... [--tcp PORT]... [--grpc PORT]... [--version TEXT]
`;

async function run(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      kubeconfig: { type: "string" },
      nodes: { type: "string", default: "2" },
      images: { type: "string" },
      cni: { type: "string" },
      sample: { type: "string" },
      "watch-stdin": { type: "boolean", default: false },
    },
  });
  if (values.kubeconfig === undefined) throw new Error("--kubeconfig is required");
  const count = Number(values.nodes);
  if (!Number.isInteger(count) || count < 1 || count > 200)
    throw new Error(`--nodes is ${values.nodes}: must be between 1 and 200`);
  await assertAvailable(values.sample);
  const kubeconfig = await readFile(values.kubeconfig, "utf8");
  const images = values.images === undefined ? undefined : await readImages(values.images);
  const cniPlugin = values.cni === undefined ? undefined : await readCniPlugin(values.cni);
  const interrupted = interruption(values["watch-stdin"]);
  try {
    const options = { kubeconfig, nodes: count, ...(images && { images }), ...(cniPlugin && { cniPlugin }) };
    await runNodes(options, values.sample, interrupted);
  } finally {
    // An open standard input would keep this process running.
    process.stdin.destroy();
  }
  return 0;
}

/** Runs nodes, with a sample if there is one, until they are interrupted. */
async function runNodes(options: NodesOptions, sample: string | undefined, interrupted: AbortSignal): Promise<void> {
  const onError = (error: unknown): void =>
    void process.stderr.write(`istiod-nodes: ${error instanceof Error ? error.message : String(error)}\n`);
  const nodes = await startNodes({ ...options, onError });
  try {
    process.stdout.write(`${options.nodes} nodes run pods\n`);
    if (sample !== undefined) await installSample(options.kubeconfig, interrupted);
    await aborted(interrupted);
  } finally {
    await nodes.stop();
  }
}

async function check(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: { sample: { type: "string" } } });
  await assertAvailable(values.sample);
  return 0;
}

/** @throws Error with the reason if nodes, or the sample, cannot run on this machine */
async function assertAvailable(sample: string | undefined): Promise<void> {
  if (sample !== undefined && sample !== "bookinfo") throw new Error(`--sample is ${sample}: must be bookinfo`);
  const unavailable = (await nodesUnavailable()) ?? (sample === undefined ? undefined : await sampleUnavailable());
  if (unavailable !== undefined) throw new Error(unavailable);
}

/** Returns a signal that is aborted by SIGINT, SIGTERM, SIGHUP or, if requested, the end of the standard input. */
function interruption(watchStdin: boolean): AbortSignal {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, abort);
  if (watchStdin) process.stdin.once("end", abort).once("error", abort).resume();
  return controller.signal;
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
}

/** Installs the sample, and returns early if it is interrupted. */
async function installSample(kubeconfig: string, interrupted: AbortSignal): Promise<void> {
  const started = Date.now();
  const client = createApiClient(await parseKubeconfig(kubeconfig), {
    userAgent: "istiod-nodes",
    qps: 100,
    burst: 200,
  });
  const seconds = (): string => `${Math.round((Date.now() - started) / 1000)} s`;
  try {
    const report = (progress: string): void => void process.stdout.write(`${seconds()}: ${progress}\n`);
    const installed = installBookinfo(client, { report, signal: interrupted });
    const address = await Promise.race([installed, aborted(interrupted)]);
    if (address === undefined) return;
    process.stdout.write(`Bookinfo is ready after ${seconds()}

  curl http://${address}/productpage
  curl http://${address}/reviews      # 90 % v1, 10 % v3
  kubectl -n bookinfo edit virtualservice bookinfo
`);
  } finally {
    client.close();
  }
}

async function main([command, ...args]: readonly string[]): Promise<number> {
  switch (command) {
    case "run":
      return await run(args);
    case "check":
      return await check(args);
    case "logs":
      return await printLogs(args);
    case "verdicts":
      return await printVerdicts(args);
    case "migration":
      return await printMigration(args);
    case "pod-startup":
      return await printPodStartup(args);
    case "echo":
      runEcho(args);
      return 0;
    default:
      process.stderr.write(USAGE);
      return 2;
  }
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`istiod-nodes: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
