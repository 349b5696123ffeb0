import { systemNamespaces } from "@istiod/config-schema";
import type { KubernetesObject } from "@istiod/kubernetes";
import { formatTable } from "@istiod/proxy-config";
import { SettingsCommand } from "@istiod/settings/command";
import { Command } from "commander";
import {
  type Cluster,
  type ClusterCommandOptions,
  type ClusterFlags,
  clusterOptions,
  withCluster,
} from "./cluster/cluster.js";
import { listObjects, resources, selects } from "./cluster/objects.js";
import type { Pod } from "./cluster/pod-of.js";
import { podRevision } from "./cluster/pod-revision.js";
import {
  injectionLabel,
  labelOf,
  nameOfObject,
  podInjectionLabel,
  revisionLabel,
  type WebhookConfiguration,
} from "./webhooks/injection-webhooks.js";

/** `istiod injector list`: the namespaces that are injected, and the webhooks that do so. */
export function injectorCommand(options: ClusterCommandOptions): Command {
  return new Command("injector").description("List the injection of namespaces.").addCommand(listCommand(options));
}

function listCommand({ env, print }: ClusterCommandOptions): Command {
  const command = new SettingsCommand("list").description(
    "Print the revisions of namespaces and of their Pods, and the webhooks that inject them.",
  );
  for (const option of clusterOptions("namespace to list (default: all)")) command.addOption(option);
  return command.action((flags: ClusterFlags) =>
    withCluster(flags, env, async (cluster) => {
      const { client } = cluster;
      const namespaces = await listedNamespaces(cluster, flags.namespace);
      const webhooks = await listObjects<WebhookConfiguration>(client, resources.mutatingWebhooks, {
        labelSelector: "app=sidecar-injector",
      });
      const pods = await listObjects<Pod>(client, resources.pods);
      print(
        `${namespaceTable(namespaces, webhooks, pods)}\n${webhookTable(namespaces, webhooks, await proxyImages(cluster))}`,
      );
    }),
  );
}

async function listedNamespaces(
  { client, istioNamespace }: Cluster,
  only: string | undefined,
): Promise<readonly KubernetesObject[]> {
  const all = await listObjects(client, resources.namespaces);
  const found = all.filter((each) => only === undefined || nameOfObject(each) === only);
  if (only !== undefined && found.length === 0) throw new Error(`namespace ${only}: does not exist`);
  return found.filter((each) => !systemNamespaces.has(nameOfObject(each)) && nameOfObject(each) !== istioNamespace);
}

function namespaceTable(
  namespaces: readonly KubernetesObject[],
  webhooks: readonly WebhookConfiguration[],
  pods: readonly Pod[],
): string {
  const rows = namespaces.flatMap((namespace) => {
    const name = nameOfObject(namespace);
    const revision = namespaceRevision(namespace, webhooks);
    const own = pods.filter(({ metadata }) => metadata.namespace === name);
    const counts = podCounts(own, revision);
    if (counts.length === 0) return revision === "" ? [] : [[name, revision, "<no pods>"]];
    return counts.map((count) => [name, revision, count]);
  });
  if (rows.length === 0) return "No Istio injected namespaces present.\n";
  return formatTable([["NAMESPACE", "ISTIO-REVISION", "POD-REVISIONS"], ...rows], 1);
}

/** Returns the revision that injects a namespace; `MISSING/…` if its label names none that exists. */
function namespaceRevision(namespace: KubernetesObject, webhooks: readonly WebhookConfiguration[]): string {
  const labels = namespace.metadata?.labels ?? {};
  const injector = webhooks.find(({ webhooks: all = [] }) =>
    all.some(({ namespaceSelector }) => namespaceSelector !== undefined && selects(namespaceSelector, labels)),
  );
  if (injector !== undefined) return labelOf(injector, revisionLabel);
  const revision = labels[revisionLabel] ?? "";
  if (revision !== "") return `MISSING/${revision}`;
  const injection = labels[injectionLabel];
  return injection === undefined || injection === "disabled" ? "" : `MISSING/${injectionLabel}`;
}

/** Counts Pods by their revision, as text. */
function podCounts(pods: readonly Pod[], expected: string): string[] {
  const byRevision = new Map<string, Pod[]>();
  for (const pod of pods) {
    const revision = podRevision(pod) || "<non-Istio>";
    byRevision.set(revision, [...(byRevision.get(revision) ?? []), pod]);
  }
  return [...byRevision].sort().map(([revision, own]) => {
    const disabled = own.filter(isInjectionDisabled).length;
    const outdated = own.filter((pod) => !isInjectionDisabled(pod) && podRevision(pod) !== expected).length;
    const notes = [
      ...(disabled > 0 ? [` (injection disabled: ${disabled})`] : []),
      ...(outdated > 0 ? [` NEEDS RESTART: ${outdated}`] : []),
    ];
    return `${revision}: ${own.length}${notes.join("")}`;
  });
}

function isInjectionDisabled({ metadata }: Pod): boolean {
  const value = metadata.labels?.[podInjectionLabel] ?? metadata.annotations?.[podInjectionLabel] ?? "";
  return value.toLowerCase() === "false";
}

function webhookTable(
  namespaces: readonly KubernetesObject[],
  webhooks: readonly WebhookConfiguration[],
  images: ReadonlyMap<string, string>,
): string {
  if (webhooks.length === 0) return "No Istio injection hooks present.\n";
  const rows = webhooks.flatMap((webhook) => {
    const revision = labelOf(webhook, revisionLabel);
    const more = [nameOfObject(webhook), revision, images.get(revision) ?? ""];
    const injected = namespaces.filter(({ metadata }) =>
      (webhook.webhooks ?? []).some(
        ({ name, namespaceSelector }) =>
          /^(rev\.)?namespace\.sidecar-injector\.istio\.io$/.test(name) && selects(namespaceSelector, metadata?.labels),
      ),
    );
    return injected.length === 0
      ? [["DOES NOT AUTOINJECT", ...more]]
      : injected.map((namespace) => [nameOfObject(namespace), ...more]);
  });
  return formatTable([["NAMESPACES", "INJECTOR-HOOK", "ISTIO-REVISION", "SIDECAR-IMAGE"], ...rows], 1);
}

/** Returns the images of proxies by revision, from the values of the injection ConfigMaps. */
async function proxyImages({ client, istioNamespace }: Cluster): Promise<ReadonlyMap<string, string>> {
  interface ConfigMap extends KubernetesObject {
    readonly data?: Readonly<Record<string, string>>;
  }
  const found = await listObjects<ConfigMap>(client, resources.configMaps, {
    namespace: istioNamespace,
    labelSelector: revisionLabel,
  });
  return new Map(
    found.flatMap((configMap) => {
      const image = imageOf(configMap.data?.["values"]);
      return image === undefined ? [] : [[labelOf(configMap, revisionLabel), image] as const];
    }),
  );
}

interface InjectionValues {
  readonly global?: {
    readonly hub?: string;
    readonly tag?: string | number;
    readonly proxy?: { readonly image?: string };
  };
}

function imageOf(values: string | undefined): string | undefined {
  if (values === undefined) return undefined;
  try {
    const { hub = "", tag = "", proxy } = (JSON.parse(values) as InjectionValues).global ?? {};
    const image = proxy?.image ?? "";
    if (image === "") return undefined;
    return image.includes("/") ? image : `${hub}/${image}:${tag}`;
  } catch {
    // A ConfigMap of somebody else.
    return undefined;
  }
}
