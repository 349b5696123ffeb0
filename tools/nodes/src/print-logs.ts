import { readdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createApiClient, readKubeconfig, readObject } from "@istiod/kubernetes";
import type { Pod } from "./kube/objects.js";
import { types } from "./kube/types.js";

/** Prints the logs of a container of a pod, of all its restarts. KUBECONFIG names the kubeconfig. */
export async function printLogs(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      namespace: { type: "string", short: "n", default: "default" },
      container: { type: "string", short: "c" },
    },
  });
  const [name] = positionals;
  if (name === undefined) throw new Error("logs: the name of a pod is required");
  const kubeconfig = process.env["KUBECONFIG"];
  if (!kubeconfig) throw new Error("logs: KUBECONFIG must name the cluster's kubeconfig");
  const client = createApiClient(await readKubeconfig(kubeconfig));
  try {
    const { metadata, spec } = await readObject<Pod>(client, types.pods, { namespace: values.namespace, name });
    const container = values.container ?? spec.containers[0]?.name ?? "";
    const folder = await findFolder(metadata.uid, container);
    const files = (await readdir(folder)).filter((file) => file.endsWith(".log"));
    files.sort((a, b) => Number.parseInt(a) - Number.parseInt(b));
    for (const file of files) process.stdout.write(await readFile(join(folder, file)));
    return 0;
  } finally {
    client.close();
  }
}

async function findFolder(uid: string, container: string): Promise<string> {
  const nodes = (await readdir(tmpdir())).filter((name) => name.startsWith("istiod-nodes-"));
  for (const node of nodes)
    for (const name of await readdir(join(tmpdir(), node)).catch(() => [])) {
      const folder = join(tmpdir(), node, name, uid, "containers", container);
      if (
        await readdir(folder).then(
          () => true,
          () => false,
        )
      )
        return folder;
    }
  throw new Error(`logs: no container ${container} of this pod has run on a node of this machine`);
}
