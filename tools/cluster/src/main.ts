import { join } from "node:path";
import { tmpdir } from "node:os";
import { parseArgs } from "node:util";
import { buildServer } from "./build-server.js";
import { istioDefinitions } from "./istio-definitions.js";
import { findServer } from "./find-server.js";
import { startCluster } from "./start-cluster.js";

const USAGE = `usage: istiod-cluster run [--port PORT] [--kubeconfig FILE] | install | find | definitions
  run          start a Kubernetes API server until it is interrupted, after building it if necessary
  install      build the API server, unless it is built, and print its path
  find         print the path of the API server
  definitions  print definitions of Istio's kinds for kubectl apply
`;

const started = Date.now();
let last = "";

/** Shows progress: in place on a terminal, otherwise each step once. */
function report(progress: string): void {
  const seconds = Math.round((Date.now() - started) / 1000);
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[Kbuilding the API server: ${progress} (${seconds} s)`);
  else if (!progress.startsWith("compiled") && progress !== last) process.stderr.write(`${progress}\n`);
  else if (last !== "" && !last.startsWith("compiled")) process.stderr.write("compiling: minutes the first time\n");
  last = progress;
}

async function install(): Promise<string> {
  const binary = (await findServer()) ?? (await buildServer({ report }));
  if (last !== "" && process.stderr.isTTY) process.stderr.write("\r\x1b[K");
  return binary;
}

async function run(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: { port: { type: "string", default: "0" }, kubeconfig: { type: "string" } },
  });
  const port = Number(values.port);
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new Error(`--port is ${values.port}: must be between 0 and 65535`);
  await install();
  const kubeconfigFile = values.kubeconfig ?? join(tmpdir(), `istiod-cluster-${process.pid}.kubeconfig`);
  const cluster = await startCluster({ port, kubeconfigFile });
  process.stdout.write(`Kubernetes API server at ${cluster.url}

  export KUBECONFIG=${kubeconfigFile}
  kubectl get namespaces

Ctrl-C stops it and removes everything.
`);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => void cluster.stop());
  await cluster.ended;
  return 0;
}

async function main([command, ...args]: readonly string[]): Promise<number> {
  switch (command) {
    case "run":
      return run(args);
    case "install":
      process.stdout.write(`${await install()}\n`);
      return 0;
    case "find": {
      const found = await findServer();
      process.stdout.write(found === undefined ? "" : `${found}\n`);
      return found === undefined ? 1 : 0;
    }
    case "definitions":
      process.stdout.write(`${JSON.stringify(istioDefinitions(), undefined, 2)}\n`);
      return 0;
    default:
      process.stderr.write(USAGE);
      return 2;
  }
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`istiod-cluster: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
