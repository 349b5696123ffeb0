import { Command } from "commander";
import type { ClusterCommandOptions } from "../cluster/cluster.js";
import { entryConfigureCommand } from "./entry-configure.js";
import { groupCreateCommand } from "./group-create.js";

/** `istiod workload`: workloads on virtual machines. */
export function workloadCommand(options: ClusterCommandOptions): Command {
  const group = new Command("group")
    .description("Work with WorkloadGroups.")
    .addCommand(groupCreateCommand(options.print));
  const entry = new Command("entry")
    .description("Work with single workloads of a WorkloadGroup.")
    .addCommand(entryConfigureCommand(options));
  return new Command("workload")
    .description("Work with workloads on virtual machines.")
    .addCommand(group)
    .addCommand(entry);
}
