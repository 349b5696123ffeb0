import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { tmpdir } from "node:os";
import { parseArgs } from "node:util";
import { buildServer } from "./build-server.js";
import { findServer } from "./find-server.js";
import { FailedCommandError } from "./run-command.js";

const USAGE = `usage: istiod-cluster run [--port PORT] [--kubeconfig FILE] [--nodes] [--images FILE] [--cni FILE] [--sample bookinfo] |
                      install | find
  run      start a Kubernetes API server until it is interrupted, after building it if necessary; with --nodes, also
           two nodes that run pods, with the images of a registry file in addition to the built-in ones, and the CNI
           plugin of a configuration file for each pod;
           --sample implies --nodes, and installs the charts, an ingress gateway and Bookinfo
  install  build the API server, unless it is built, and print its path
  find     print the path of the API server
`;

// Other packages are imported where they are needed: CI runs install before anything is built.

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
    options: {
      port: { type: "string", default: "0" },
      kubeconfig: { type: "string" },
      nodes: { type: "boolean", default: false },
      images: { type: "string" },
      cni: { type: "string" },
      sample: { type: "string" },
    },
  });
  const port = Number(values.port);
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new Error(`--port is ${values.port}: must be between 0 and 65535`);
  const withNodes = values.nodes || values.sample !== undefined;
  for (const flag of ["images", "cni"] as const)
    if (values[flag] !== undefined && !withNodes) throw new Error(`--${flag} is only for --nodes`);
  // Building the server takes minutes: reasons against the nodes come first.
  if (withNodes && (await checkNodes(values)) !== 0) return 1;
  await install();
  const { startCluster } = await import("./start-cluster.js");
  const interrupted = new Promise<number>((resolve) => {
    // A terminal and npm both send the signal, and the second must not end this process before its parts.
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => resolve(0));
  });
  const kubeconfigFile = values.kubeconfig ?? join(tmpdir(), `istiod-cluster-${process.pid}.kubeconfig`);
  const cluster = await startCluster({ port, kubeconfigFile });
  process.stdout.write(`Kubernetes API server at ${cluster.url}

  export KUBECONFIG=${kubeconfigFile}
  kubectl get namespaces

Ctrl-C stops it and removes everything.
`);
  const nodes = withNodes ? startNodes(kubeconfigFile, values) : undefined;
  const status = await Promise.race([interrupted, cluster.ended.then(() => 1), ...(nodes ? [nodes.ended] : [])]);
  await nodes?.stop();
  await cluster.stop();
  return status;
}

const nodesProgram = fileURLToPath(new URL("../../nodes/bin/istiod-nodes.js", import.meta.url));

interface NodesOptions {
  readonly images?: string;
  readonly cni?: string;
  readonly sample?: string;
}

/** Returns 0 if nodes, and the sample, can run on this machine. Otherwise `istiod-nodes` prints the reason. */
async function checkNodes({ sample }: NodesOptions): Promise<number> {
  const args = [nodesProgram, "check", ...(sample === undefined ? [] : ["--sample", sample])];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "inherit", "inherit"] });
  const [status] = (await once(child, "close")) as [number | null];
  return status ?? 1;
}

const NODES_END_MS = 15_000;

/**
 * Starts the nodes of `@istiod/nodes`, which depends on this package for its tests, as a process of their own.
 *
 * @returns `ended`, the exit status when they end by themselves
 */
function startNodes(kubeconfig: string, { images, cni, sample }: NodesOptions) {
  // It ends at the end of its standard input, which also comes if this process is killed.
  const args = [nodesProgram, "run", "--watch-stdin", "--kubeconfig", kubeconfig];
  if (images !== undefined) args.push("--images", images);
  if (cni !== undefined) args.push("--cni", cni);
  if (sample !== undefined) args.push("--sample", sample);
  // In a process group of its own, Ctrl-C does not reach it: it needs the API server until its containers have ended.
  const child = spawn(process.execPath, args, { stdio: ["pipe", "inherit", "inherit"], detached: true });
  child.stdin.on("error", () => undefined);
  const ended = new Promise<number>((resolve) => child.once("close", (status) => resolve(status ?? 1)));
  const stop = async (): Promise<void> => {
    child.stdin.end();
    const timer = setTimeout(() => child.kill("SIGKILL"), NODES_END_MS);
    await ended;
    clearTimeout(timer);
  };
  return { ended, stop };
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
    default:
      process.stderr.write(USAGE);
      return 2;
  }
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (error instanceof FailedCommandError) process.stderr.write(`${error.output.trimEnd()}\n`);
  process.stderr.write(`istiod-cluster: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
