import { SettingsCommand } from "@istiod/settings/command";
import { Command } from "commander";
import { readClusterMesh } from "./cluster/cluster-mesh.js";
import {
  type Cluster,
  type ClusterCommandOptions,
  type ClusterFlags,
  clusterOptions,
  withCluster,
} from "./cluster/cluster.js";
import { findObject, listObjects, resources } from "./cluster/objects.js";
import { candidates, type Pod, podOf } from "./cluster/pod-of.js";
import { podRevision } from "./cluster/pod-revision.js";
import { describeMesh, describePeerAuthentication } from "./describe/describe-mesh.js";
import { describePod, isMeshed } from "./describe/describe-pod.js";
import { shortName } from "./describe/short-name.js";
import { describeService, selectsPod, type ServiceObject } from "./describe/describe-service.js";

interface DescribeFlags extends ClusterFlags {
  readonly ignoreUnmeshed: boolean;
}

/** `istiod describe`: what Istio's configuration means for a Pod or a Service of a cluster. */
export function describeCommand(options: ClusterCommandOptions): Command {
  return new Command("describe")
    .alias("des")
    .description("Describe a Pod or Service, and the Istio configuration that applies to it.")
    .addCommand(podCommand(options))
    .addCommand(serviceCommand(options));
}

const separator = "--------------------\n";

function podCommand({ env, print, warn }: ClusterCommandOptions): Command {
  return describingCommand("pod", "po", "the Pod, as name or name.namespace").action(
    (name: string, flags: DescribeFlags) =>
      withCluster(flags, env, async (cluster) => {
        const pod = await podOf(cluster, name);
        const { namespace } = pod.metadata;
        print(describePod(pod, cluster.namespace, flags));
        const all = await listObjects<ServiceObject>(cluster.client, resources.services, { namespace });
        const services = all.filter((service) => selectsPod(service, pod));
        if (services.length === 0 && !flags.ignoreUnmeshed)
          print(`Warning: No Kubernetes Services select pod ${shortName(pod.metadata, cluster.namespace)}\n`);
        const { database, unread } = await readClusterMesh(cluster, podRevision(pod));
        for (const reason of unread) warn(`Warning: described without ${reason}\n`);
        print(separator);
        if (isMeshed(pod))
          print(
            services
              .map(
                (service) =>
                  describeService(service, pod, cluster.namespace) +
                  describeMesh(database, service, [pod], cluster.namespace),
              )
              .join(separator),
          );
        print(`${separator}${describePeerAuthentication(database, pod)}`);
      }),
  );
}

function serviceCommand({ env, print, warn }: ClusterCommandOptions): Command {
  return describingCommand("service", "svc", "the Service, as name or name.namespace").action(
    (given: string, flags: DescribeFlags) =>
      withCluster(flags, env, async (cluster) => {
        const service = await serviceOf(cluster, given);
        const name = shortName(service.metadata, cluster.namespace);
        const pods = await listObjects<Pod>(cluster.client, resources.pods, { namespace: service.metadata.namespace });
        const own = pods.filter((pod) => selectsPod(service, pod));
        const meshed = own.filter((pod) => pod.status?.phase === "Running" && isMeshed(pod));
        const [first] = meshed;
        if (own.length === 0) return print(`Service "${name}" has no pods.\n`);
        if (first === undefined)
          return print(
            `Service "${name}" has no Istio pods.  (${own.length} pods in service).\nUse \`istiod kube-inject\` or redeploy with Istio automatic sidecar injection.\n`,
          );
        const { database, unread } = await readClusterMesh(cluster, podRevision(first));
        for (const reason of unread) warn(`Warning: described without ${reason}\n`);
        print(
          describeService(service, first, cluster.namespace) +
            describeMesh(database, service, meshed, cluster.namespace),
        );
      }),
  );
}

function describingCommand(name: string, alias: string, help: string): Command {
  const command = new SettingsCommand(name)
    .alias(alias)
    .description(`Describe a ${name === "pod" ? "Pod" : "Service"}.`)
    .argument("<name>", help)
    .option("--ignoreUnmeshed", "leave out warnings about a Pod without a proxy", false);
  for (const option of clusterOptions()) command.addOption(option);
  return command;
}

async function serviceOf(cluster: Cluster, given: string): Promise<ServiceObject> {
  for (const name of candidates(given, cluster.namespace)) {
    const found = await findObject<ServiceObject>(cluster.client, resources.services, name);
    if (found !== undefined) return found;
  }
  throw new Error(`${given}: there is no such Service in namespace ${cluster.namespace}`);
}
