import { formatTable } from "@istiod/proxy-config";
import { decodeAnswers, formatSilent, httpReplicas, incompleteExit, ReplicaError } from "@istiod/replicas";
import { SettingsCommand } from "@istiod/settings/command";
import { type Command, Option } from "commander";
import { istiodHelp, istiodOption, istiodUrls, noAnswer, unanswered } from "./control-plane-flags.js";

export interface RemoteClustersOutput {
  readonly print: (text: string) => void;
  readonly warn: (text: string) => void;
  readonly exit: (status: number) => void;
}

/** A cluster as `/debug/clusterz` shows it. */
interface ClusterInfo {
  readonly id: string;
  readonly secretName?: string;
  readonly syncStatus: string;
}

/** `istiod remote-clusters`: the clusters that each replica reads, and whether they are synced. */
export function remoteClustersCommand({ print, warn, exit }: RemoteClustersOutput): Command {
  return new SettingsCommand("remote-clusters")
    .description(
      "Print the clusters that each replica reads, with their Secrets and whether they are synced. Exits with 5 if a replica does not answer.",
    )
    .addOption(istiodOption(istiodHelp))
    .addOption(new Option("-o, --output <format>", "output format").choices(["table", "json"]).default("table"))
    .action(async ({ istiod, output }: { readonly istiod: readonly string[]; readonly output: string }) => {
      const gathered = decodeAnswers(await httpReplicas(istiodUrls(istiod))("clusterz"), decodeClusters);
      if (gathered.answers.length === 0) throw noAnswer(gathered);
      if (output === "json") print(`${JSON.stringify(gathered.answers, undefined, 2)}\n`);
      else {
        const rows = gathered.answers.flatMap(({ instance, answer }) =>
          answer.map(({ id, secretName = "", syncStatus }) => [id, secretName, syncStatus, instance.name]),
        );
        print(formatTable([["NAME", "SECRET", "STATUS", "ISTIOD"], ...rows]));
      }
      const silent = unanswered(gathered);
      warn(formatSilent(silent));
      exit(silent.length === 0 ? 0 : incompleteExit);
    });
}

function decodeClusters(answer: unknown): readonly ClusterInfo[] {
  const isCluster = (each: unknown): boolean => {
    const { id, syncStatus } = (each ?? {}) as Partial<ClusterInfo>;
    return typeof id === "string" && typeof syncStatus === "string";
  };
  if (!Array.isArray(answer) || !answer.every(isCluster))
    throw new ReplicaError("malformed", "its list of clusters has another form");
  return answer as ClusterInfo[];
}
