import { spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { tmpdir } from "node:os";
import { parseArgs } from "node:util";
import { buildServer } from "./build-server.js";
import { findServer } from "./find-server.js";
import { FailedCommandError } from "./run-command.js";

const USAGE = `usage: istiod-cluster run [--port PORT] [--kubeconfig FILE] [--nodes] [--images FILE] [--sample bookinfo] |
                      install | find
  run      start a Kubernetes API server until it is interrupted, after building it if necessary; with --nodes, also
           two nodes that run pods, with the images of a registry file in addition to the built-in ones;
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
      sample: { type: "string" },
    },
  });
  const port = Number(values.port);
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new Error(`--port is ${values.port}: must be between 0 and 65535`);
  const withNodes = values.nodes || values.sample !== undefined;
  if (values.images !== undefined && !withNodes) throw new Error("--images is only for --nodes");
  await install();
  const { startCluster } = await import("./start-cluster.js");
  const kubeconfigFile = values.kubeconfig ?? join(tmpdir(), `istiod-cluster-${process.pid}.kubeconfig`);
  const cluster = await startCluster({ port, kubeconfigFile });
  process.stdout.write(`Kubernetes API server at ${cluster.url}

  export KUBECONFIG=${kubeconfigFile}
  kubectl get namespaces

Ctrl-C stops it and removes everything.
`);
  const nodes = withNodes ? startNodes(kubeconfigFile, values) : undefined;
  const stop = (): void => {
    nodes?.child.kill("SIGTERM");
    void (nodes?.ended ?? Promise.resolve()).then(() => cluster.stop());
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, stop);
  await cluster.ended;
  return 0;
}

/** Starts the nodes of `@istiod/nodes`, which depends on this package for its tests, as a process of their own. */
function startNodes(kubeconfig: string, { images, sample }: { images?: string; sample?: string }) {
  const program = fileURLToPath(new URL("../../nodes/bin/istiod-nodes.js", import.meta.url));
  // It ends at the end of its standard input, which also comes if this process is killed.
  const args = [program, "run", "--watch-stdin", "--kubeconfig", kubeconfig];
  if (images !== undefined) args.push("--images", images);
  if (sample !== undefined) args.push("--sample", sample);
  const child = spawn(process.execPath, args, { stdio: ["pipe", "inherit", "inherit"] });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  return { child, ended };
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
