import { formatTable } from "@istiod/proxy-config";
import {
  decodeAnswers,
  decodeProxies,
  httpReplicas,
  incompleteExit,
  joinConnections,
  replicaTable,
} from "@istiod/replicas";
import { SettingsCommand } from "@istiod/settings/command";
import { type Command, Option } from "commander";
import { istiodHelp, istiodOption, istiodUrls, noAnswer } from "./control-plane-flags.js";

export interface ReplicasOutput {
  readonly print: (text: string) => void;
  readonly exit: (status: number) => void;
}

interface ReplicasValues {
  readonly istiod: readonly string[];
  readonly proxies?: boolean;
  readonly output: "table" | "json";
}

/** `istiod replicas`: all replicas of a control plane, with their proxies. */
export function replicasCommand({ print, exit }: ReplicasOutput): Command {
  return new SettingsCommand("replicas")
    .description(
      "Print the replicas of the control plane and the number of their proxies. Exit status: 0 if all answer, 2 on errors, 5 if a replica does not answer.",
    )
    .addOption(istiodOption(istiodHelp))
    .option("--proxies", "print the proxies of each replica")
    .addOption(new Option("-o, --output <format>", "output format").choices(["table", "json"]).default("table"))
    .action(async ({ istiod, proxies = false, output }: ReplicasValues) => {
      const gathered = decodeAnswers(await httpReplicas(istiodUrls(istiod))("proxies"), decodeProxies);
      if (gathered.answers.length === 0) throw noAnswer(gathered);
      const joined = joinConnections(gathered, (answer) => answer);
      print(
        output === "json"
          ? `${JSON.stringify(gathered, undefined, 2)}\n`
          : formatTable(replicaTable(gathered, joined, { proxies })),
      );
      exit(gathered.silent.length + gathered.failures.length === 0 ? 0 : incompleteExit);
    });
}
