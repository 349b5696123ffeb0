import { formatTable } from "@istiod/proxy-config";
import { SettingsCommand } from "@istiod/settings/command";
import type { Command } from "commander";
import {
  type Cluster,
  type ClusterCommandOptions,
  type ClusterFlags,
  clusterOptions,
  withCluster,
} from "./cluster/cluster.js";
import { findObject, resources } from "./cluster/objects.js";
import { podOf } from "./cluster/pod-of.js";
import { injectionVerdict } from "./webhooks/injection-verdict.js";
import { injectionWebhooks } from "./webhooks/injection-webhooks.js";

interface CheckInjectFlags extends ClusterFlags {
  readonly labels?: string;
}

/** `istiod check-inject`: the webhooks that inject a Pod, and why the others do not. */
export function checkInjectCommand({ env, print }: ClusterCommandOptions): Command {
  const command = new SettingsCommand("check-inject")
    .description("Print which webhooks inject a Pod, and why the others do not.")
    .argument("[pod]", "the Pod, or a workload such as deployment/web; with .namespace if it is another")
    .option("-l, --labels <labels>", "labels of a Pod that does not exist yet, such as app=web,version=v1");
  for (const option of clusterOptions()) command.addOption(option);
  return command.action((name: string | undefined, flags: CheckInjectFlags) =>
    withCluster(flags, env, async (cluster) => {
      const { namespace, labels } = await subject(cluster, name, flags.labels);
      const found = await findObject(cluster.client, resources.namespaces, { name: namespace });
      if (found === undefined) throw new Error(`namespace ${namespace}: does not exist`);
      const configurations = await injectionWebhooks(cluster.client);
      if (configurations.length === 0) return print("ERROR: no Istio injection hooks present.\n");
      const verdicts = configurations.map((configuration) =>
        injectionVerdict(configuration, { pod: labels, namespace: found.metadata?.labels ?? {} }),
      );
      const rows = verdicts.map((v) => [v.webhook, v.revision, v.injected ? "\u2714" : "\u2718", v.reason]);
      print(formatTable([["WEBHOOK", "REVISION", "INJECTED", "REASON"], ...rows]));
      if (verdicts.filter(({ injected }) => injected).length > 1)
        print("ERROR: multiple webhooks will inject, which can lead to errors\n");
    }),
  );
}

interface Subject {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
}

async function subject(cluster: Cluster, name: string | undefined, labels: string | undefined): Promise<Subject> {
  if ((name === undefined) === (labels === undefined)) throw new Error("expected a Pod, a workload, or --labels");
  if (name === undefined) return { namespace: cluster.namespace, labels: parseLabels(labels ?? "") };
  const { metadata } = await podOf(cluster, name);
  return { namespace: metadata.namespace, labels: metadata.labels ?? {} };
}

function parseLabels(text: string): Record<string, string> {
  return Object.fromEntries(
    text.split(",").map((pair) => {
      const [, key, value] = /^([^=]+)=([^=]*)$/.exec(pair) ?? [];
      if (key === undefined || value === undefined)
        throw new Error(`--labels ${text}: expected labels such as app=web,version=v1`);
      return [key, value];
    }),
  );
}
