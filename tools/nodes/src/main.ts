import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { createApiClient, parseKubeconfig } from "@istiod/kubernetes";
import { readImages } from "./agent/images.js";
import { nodesUnavailable } from "./nodes-unavailable.js";
import { runEcho } from "./programs/echo.js";
import { printLogs } from "./print-logs.js";
import { installBookinfo } from "./sample/install-bookinfo.js";
import { startNodes } from "./start-nodes.js";

const USAGE = `usage: istiod-nodes run --kubeconfig FILE [--nodes N] [--images FILE] [--sample bookinfo] [--watch-stdin] |
                    logs [--namespace NS] [-c NAME] POD | echo
  run   run the pods of the API server of a kubeconfig until it is interrupted; with --sample, install the charts, an
        ingress gateway and Bookinfo; with --watch-stdin, end at the end of the standard input
  logs  print the logs of a container
  echo  run the server of the image echo: [--http PORT]... [--tcp PORT]... [--grpc PORT]... [--version TEXT]
`;

async function run(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      kubeconfig: { type: "string" },
      nodes: { type: "string", default: "2" },
      images: { type: "string" },
      sample: { type: "string" },
      "watch-stdin": { type: "boolean", default: false },
    },
  });
  if (values.kubeconfig === undefined) throw new Error("--kubeconfig is required");
  const count = Number(values.nodes);
  if (!Number.isInteger(count) || count < 1 || count > 200)
    throw new Error(`--nodes is ${values.nodes}: must be between 1 and 200`);
  if (values.sample !== undefined && values.sample !== "bookinfo")
    throw new Error(`--sample is ${values.sample}: must be bookinfo`);
  const unavailable = await nodesUnavailable();
  if (unavailable !== undefined) throw new Error(unavailable);
  const kubeconfig = await readFile(values.kubeconfig, "utf8");
  const nodes = await startNodes({
    kubeconfig,
    nodes: count,
    ...(values.images !== undefined && { images: await readImages(values.images) }),
    onError: (error) =>
      process.stderr.write(`istiod-nodes: ${error instanceof Error ? error.message : String(error)}\n`),
  });
  process.stdout.write(`${count} nodes run pods\n`);
  const interrupted = new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => resolve());
    if (values["watch-stdin"]) process.stdin.once("end", () => resolve()).resume();
  });
  try {
    if (values.sample !== undefined) await Promise.race([installSample(kubeconfig), interrupted]);
    await interrupted;
  } finally {
    await nodes.stop();
  }
  return 0;
}

async function installSample(kubeconfig: string): Promise<void> {
  const started = Date.now();
  const client = createApiClient(await parseKubeconfig(kubeconfig), {
    userAgent: "istiod-nodes",
    qps: 100,
    burst: 200,
  });
  const seconds = (): string => `${Math.round((Date.now() - started) / 1000)} s`;
  try {
    const report = (progress: string): void => void process.stdout.write(`${seconds()}: ${progress}\n`);
    const address = await installBookinfo(client, { report });
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
    case "logs":
      return await printLogs(args);
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
