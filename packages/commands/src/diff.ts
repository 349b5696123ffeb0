import { readFile } from "node:fs/promises";
import { formatProblem } from "@istiod/config-schema";
import { formatMeshDiff, diffMeshes, pairProxies } from "@istiod/explain";
import { podProxies, type Proxy, proxyNamed } from "@istiod/push-context";
import { SettingsCommand } from "@istiod/settings/command";
import { type Command, Option } from "commander";
import { absentFiles } from "./absent-files.js";
import { meshFlags } from "./mesh-flags.js";
import type { OfflineMesh, OfflineMeshes } from "./offline-mesh.js";
import type { MeshFlags } from "./mesh-flags.js";

interface DiffValues extends Omit<MeshFlags, "configDir"> {
  readonly before: string;
  readonly after: string;
  readonly afterMeshConfig?: string;
  readonly proxy: readonly string[];
  readonly proxies?: string;
  readonly output: "text" | "json";
}

/** Outputs of `istiod diff`. */
export interface DiffOutput {
  print(text: string): void;
  warn(text: string): void;
  /** 0: no differences; 1: differences. */
  exit(status: 0 | 1): void;
}

/** Flags of the mesh that both directories share. */
const { configDir: _, ...sharedFlags } = meshFlags;

/** `istiod diff`: changes of the proxies' resources if one directory replaced another. */
export function diffCommand({ env, readMesh }: OfflineMeshes, output: DiffOutput): Command {
  const command = new SettingsCommand("diff")
    .description(
      "Print the changes of proxies' resources between two directories. Exits with 0 if there are none, 1 if there are some, 2 on errors.",
    )
    .requiredOption("--before <dir>", "directory of the current objects")
    .requiredOption("--after <dir>", "directory of the changed objects")
    .option("--afterMeshConfig <file>", "changed mesh configuration (default: --meshConfig)")
    .addOption(
      new Option(
        "--proxy <id>",
        "name.namespace of a Pod, or a node ID; repeatable (default: all Pods with sidecars, and gateways)",
      )
        .default([], "")
        .argParser((value: string, before: string[]) => [...before, value]),
    )
    .option("--proxies <file>", "file with one name or node ID per line")
    .addOption(new Option("-o, --output <format>", "output format").choices(["text", "json"]).default("text"));
  command.addSettings(sharedFlags, env);
  return command.action(async (values: DiffValues) => {
    for (const sentence of await absentFiles(values)) output.warn(`${sentence}\n`);
    const before = await readMesh({ ...values, configDir: values.before });
    const after = await readMesh({
      ...values,
      configDir: values.after,
      meshConfig: values.afterMeshConfig ?? values.meshConfig,
    });
    for (const { severity, ...problem } of [...before.problems, ...after.problems]) {
      if (severity === "error") output.warn(`rejected: ${formatProblem({ severity, ...problem })}\n`);
    }
    const ids = [...values.proxy, ...(values.proxies === undefined ? [] : await idsIn(values.proxies))];
    const changes = diffMeshes(
      before.database,
      after.database,
      pairProxies(proxiesOf(before, ids), proxiesOf(after, ids)),
    );
    output.print(values.output === "json" ? `${JSON.stringify(changes, undefined, 2)}\n` : formatMeshDiff(changes));
    output.exit(changes.changed.length + changes.added.length + changes.removed.length === 0 ? 0 : 1);
  });
}

function proxiesOf({ database }: OfflineMesh, ids: readonly string[]): readonly Proxy[] {
  return ids.length === 0 ? podProxies(database) : ids.map((id) => proxyNamed(database, id));
}

async function idsIn(file: string): Promise<readonly string[]> {
  const lines = (await readFile(file, "utf8")).split("\n").map((line) => line.trim());
  return lines.filter((line) => line !== "" && !line.startsWith("#"));
}
