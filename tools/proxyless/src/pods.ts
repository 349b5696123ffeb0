// Runs clients and servers in Pods without a proxy, with the gRPC libraries of this machine:
// `npm run pods -w tools/proxyless -- [--library NAME]`.
import { parseArgs } from "node:util";
import { runCommand } from "@istiod/bench";
import { clusterUnavailable, startCluster } from "@istiod/cluster";
import { createApiClient, parseKubeconfig } from "@istiod/kubernetes";
import { type GrpcTemplate, type Image, installIstiod, nodesUnavailable, runGrpcPods, startNodes } from "@istiod/nodes";
import { Closers } from "@istiod/runtime";
import { findLibrary, type Library, libraryNames } from "./libraries.js";

const { values } = parseArgs({ options: { library: { type: "string", multiple: true } } });

const templates: readonly GrpcTemplate[] = ["grpc-agent", "grpc-simple"];
/** Some libraries wait for a minute before they connect to istiod again. */
const timeoutMs = 150_000;

const imageOf = ({ name }: Library): string => `grpc-${name.toLowerCase()}`;

async function findLibraries(): Promise<readonly Library[]> {
  const found: Library[] = [];
  for (const name of libraryNames) {
    if (values.library?.includes(name) === false) continue;
    try {
      found.push(await findLibrary(name));
    } catch (error) {
      console.log(`${name} is skipped: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return found;
}

/** Runs every library as the client of a server of the next one, with both templates. */
async function runPods(): Promise<boolean> {
  const unavailable = (await clusterUnavailable()) ?? (await nodesUnavailable());
  if (unavailable !== undefined) throw new Error(unavailable);
  const libraries = await findLibraries();
  const closers = new Closers();
  let failures = 0;
  try {
    const { kubeconfig, stop } = await startCluster();
    closers.defer(stop);
    const images = Object.fromEntries(
      libraries.map((library): [string, Image] => [
        imageOf(library),
        { entrypoint: library.command, env: { PROBE: library.command.join(" ") } },
      ]),
    );
    const nodes = await startNodes({ kubeconfig, images });
    closers.defer(() => nodes.stop());
    const client = createApiClient(await parseKubeconfig(kubeconfig), { qps: 1000, burst: 1000 });
    closers.defer(() => client.close());
    await installIstiod(client, { istiodValues: { replicaCount: 1 } });
    for (const [i, library] of libraries.entries()) {
      const server = libraries[(i + 1) % libraries.length] ?? library;
      for (const template of templates) {
        const at = `${template}: a client in ${library.name} and a server in ${server.name}`;
        const started = Date.now();
        try {
          await runGrpcPods(client, {
            namespace: `${template}-${imageOf(library)}`,
            template,
            client: imageOf(library),
            server: imageOf(server),
            timeoutMs,
            report: (seen) => console.log(`${at}: ${seen} (${((Date.now() - started) / 1000).toFixed(1)} s)`),
          });
        } catch (error) {
          failures++;
          console.log(`${at}: ${error instanceof Error ? error.message : String(error)}`);
        }
      }
    }
    console.log(failures === 0 ? "all outcomes were seen" : `${failures} runs failed`);
    return failures === 0;
  } finally {
    await closers.close();
  }
}

await runCommand("pods", runPods);
