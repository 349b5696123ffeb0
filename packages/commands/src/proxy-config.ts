import { SettingsCommand } from "@istiod/settings/command";
import { Command, Option } from "commander";
import { absentFiles } from "./absent-files.js";
import { meshFlags } from "./mesh-flags.js";
import type { OfflineMeshes } from "./offline-mesh.js";
import { type DumpFlags, dumpSource } from "./proxy-dump.js";
import { istiodOption } from "./control-plane-flags.js";
import { rootCaCompareCommand } from "./rootca-compare.js";
import { proxyLogCommand } from "./proxy-config-log.js";
import { type FilterValues, type ProxyConfigKind, proxyConfigKinds } from "./proxy-config-kinds.js";

type OutputFormat = "short" | "table" | "json" | "yaml";

interface ProxyConfigValues extends DumpFlags, FilterValues {
  readonly output: OutputFormat;
}

/** `istiod proxy-config`: the configuration of a proxy in the tables of `istioctl proxy-config`. */
export function proxyConfigCommand(
  meshes: OfflineMeshes,
  print: (text: string) => void,
  warn: (text: string) => void = () => undefined,
): Command {
  const command = new Command("proxy-config")
    .alias("pc")
    .description(
      "Print the configuration of a proxy: from a directory, a running istiod, an Envoy's admin interface or Pod, or a dump.",
    );
  for (const kind of proxyConfigKinds) command.addCommand(kindCommand(kind, meshes, { print, warn }));
  return command.addCommand(proxyLogCommand(meshes, print)).addCommand(rootCaCompareCommand(meshes, print));
}

function kindCommand(
  kind: ProxyConfigKind,
  meshes: OfflineMeshes,
  { print, warn }: { print(text: string): void; warn(text: string): void },
): Command {
  const command = new SettingsCommand(kind.name)
    .aliases([...kind.aliases])
    .description(kind.about)
    .argument("[proxy]", "the proxy: name.namespace of its Pod, or its node ID")
    .option("--proxy <id>", "the same as a flag")
    .addOption(
      istiodOption(
        "HTTP URL of a running istiod, which asks the replica that the proxy is connected to (default without another source: http://127.0.0.1:8080)",
      ),
    )
    .option("--admin <url>", "admin interface of the Envoy, such as http://127.0.0.1:15000")
    .option("-c, --kubeconfig <file>", "kubeconfig of the cluster in whose Pod the Envoy is asked")
    .option(
      "--context <name>",
      "the same by a context of the kubeconfig; the proxy may also be deployment/name and its like",
    )
    .option("-f, --file <file>", "config dump, or clusters as JSON, of an Envoy's admin interface; -: standard input")
    .addOption(
      new Option("-o, --output <format>", "output format")
        .choices(["short", "table", "json", "yaml"])
        .default(kind.defaultOutput ?? "short"),
    );
  for (const filter of kind.filters) command.addOption(filter());
  command.addSettings(meshFlags, meshes.env);
  return command.action(async (argument: string | undefined, { output, ...values }: ProxyConfigValues) => {
    if (argument !== undefined && values.proxy !== undefined)
      throw new Error(`--proxy ${values.proxy} and ${argument}: expected one proxy`);
    const source = dumpSource(
      {
        ...values,
        ...(argument !== undefined && { proxy: argument }),
        ...(command.getOptionValueSource("namespace") === "cli" && { podNamespace: values.namespace }),
      },
      meshes,
    );
    if (values.configDir !== "") for (const sentence of await absentFiles(values)) warn(`${sentence}\n`);
    print(
      output === "json" || output === "yaml"
        ? await kind.value(source, values, output)
        : await kind.summary(source, values),
    );
  });
}
