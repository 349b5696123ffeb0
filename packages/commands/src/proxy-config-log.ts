import { SettingsCommand } from "@istiod/settings/command";
import { type Command, InvalidArgumentError, Option } from "commander";
import { clusterOptions, type ClusterFlags } from "./cluster/cluster.js";
import { type EnvoyAdmin, podEnvoy } from "./cluster/envoy-admin.js";
import type { OfflineMeshes } from "./offline-mesh.js";
import { askAdmin } from "./proxy-dump.js";

interface LogFlags extends ClusterFlags {
  readonly admin?: string;
  readonly level?: readonly LoggerLevel[];
  readonly reset: boolean;
}

/** A level of one logger of Envoy, or of all. */
interface LoggerLevel {
  readonly logger: string | undefined;
  readonly level: string;
}

/** Levels of Envoy, and istioctl's names of the same. */
const levels: Readonly<Record<string, string>> = {
  trace: "trace",
  debug: "debug",
  info: "info",
  warning: "warning",
  warn: "warning",
  error: "error",
  critical: "critical",
  off: "off",
  none: "off",
};

/** `istiod proxy-config log`: the levels of an Envoy's loggers. */
export function proxyLogCommand({ env }: OfflineMeshes, print: (text: string) => void): Command {
  const command = new SettingsCommand("log")
    .alias("o")
    .description("Print or change the levels of an Envoy's loggers.")
    .argument("[pod]", "the Pod, or a workload such as deployment/web; with .namespace if it is another")
    .option("--admin <url>", "admin interface of the Envoy, in place of a Pod, such as http://127.0.0.1:15000")
    .addOption(
      new Option("--level <levels>", "level of all loggers, or of some: http:debug,rbac:debug").argParser(loggerLevels),
    )
    .option("-r, --reset", "set all loggers to warning, Envoy's default in a mesh", false);
  for (const option of clusterOptions()) command.addOption(option);
  return command.action(async (name: string | undefined, { admin, ...flags }: LogFlags) => {
    if (flags.reset && flags.level !== undefined) throw new Error("--level and --reset: expected one of them");
    if ((name === undefined) === (admin === undefined)) throw new Error("expected a Pod, or --admin");
    const wanted = flags.reset ? [{ logger: undefined, level: "warning" }] : (flags.level ?? []);
    if (admin !== undefined) {
      const ask: EnvoyAdmin = (method, path) => askAdmin(admin, path, method);
      return print(await changeLevels(ask, wanted));
    }
    const { pod, admin: ask } = await podEnvoy(flags, env, name ?? "");
    print(`${pod.metadata.name}.${pod.metadata.namespace}:\n${await changeLevels(ask, wanted)}`);
  });
}

/** Changes levels one by one, those of all loggers first, and returns all levels as Envoy prints them. */
async function changeLevels(ask: EnvoyAdmin, wanted: readonly LoggerLevel[]): Promise<string> {
  const active = await ask("POST", "/logging");
  const known = new Set(active.split("\n").flatMap((line) => /^\s+([\w-]+): \w+$/.exec(line)?.[1] ?? []));
  for (const { logger } of wanted)
    if (logger !== undefined && !known.has(logger))
      throw new Error(`--level: Envoy has no logger ${JSON.stringify(logger)}; it has ${[...known].join(", ")}`);
  let answer = active;
  const all = wanted.filter(({ logger }) => logger === undefined);
  for (const { logger = "level", level } of [...all, ...wanted.filter((each) => !all.includes(each))])
    answer = await ask("POST", `/logging?${logger}=${level}`);
  return answer;
}

function loggerLevels(value: string): readonly LoggerLevel[] {
  return value.split(",").map((part) => {
    const [, logger, name = ""] = /^(?:.*::)?(?:([\w-]+)[:=])?(\w+)$/.exec(part) ?? [];
    const level = levels[name.toLowerCase()];
    if (level === undefined)
      throw new InvalidArgumentError(
        `expected levels such as debug, or http:debug,rbac:debug; levels are ${Object.keys(levels).join(", ")}`,
      );
    return { logger, level };
  });
}
