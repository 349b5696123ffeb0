import { dryRunCounts, formatDryRuns, readConfigDump } from "@istiod/proxy-config";
import { Command, Option } from "commander";
import { readNamedFile } from "./named-file.js";
import { ask } from "./proxy-dump.js";

interface DryRunValues {
  readonly admin?: string;
  readonly file?: string;
  readonly stats?: string;
  readonly output: "text" | "json";
}

/** `istiod authz dry-run`: the effect that the dry runs of a running proxy would have had. */
export function dryRunCommand({ print }: { readonly print: (text: string) => void }): Command {
  return new Command("dry-run")
    .description(
      "Print the AuthorizationPolicies that a proxy evaluates as dry runs, and the number of requests and connections that they would have denied.",
    )
    .option("--admin <url>", "admin interface of the Envoy, such as http://127.0.0.1:15000")
    .option("-f, --file <file>", "config dump of the Envoy, the response of /config_dump; needs --stats")
    .option("--stats <file>", "statistics of the Envoy, the response of /stats; needs --file")
    .addOption(new Option("-o, --output <format>", "output format").choices(["text", "json"]).default("text"))
    .action(async (values: DryRunValues) => {
      const { dump, stats } = await read(values);
      const counts = dryRunCounts(readConfigDump(dump), stats);
      print(values.output === "json" ? `${JSON.stringify(counts, undefined, 2)}\n` : formatDryRuns(counts));
    });
}

async function read({ admin, file, stats }: DryRunValues): Promise<{ readonly dump: string; readonly stats: string }> {
  if (admin !== undefined && (file !== undefined || stats !== undefined))
    throw new Error("--admin with --file or --stats: expected one source");
  if (admin !== undefined)
    return {
      dump: await ask("--admin", admin, "/config_dump"),
      stats: await ask("--admin", admin, "/stats?filter=shadow_(allowed|denied)$"),
    };
  if (file === undefined || stats === undefined) throw new Error("expected --admin, or --file and --stats");
  return { dump: await readNamedFile("--file", file), stats: await readNamedFile("--stats", stats) };
}
