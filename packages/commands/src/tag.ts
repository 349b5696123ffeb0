import { analyzeTexts } from "@istiod/analysis";
import { applyObject, type KubernetesObject, patchObject, type ResourceType } from "@istiod/kubernetes";
import { formatTable } from "@istiod/proxy-config";
import { SettingsCommand } from "@istiod/settings/command";
import { Command, Option } from "commander";
import { stringify } from "yaml";
import {
  type Cluster,
  type ClusterCommandOptions,
  type ClusterFlags,
  clusterOptions,
  withCluster,
} from "./cluster/cluster.js";
import { listObjects, resources } from "./cluster/objects.js";
import { injectionWebhook, tagObjects, type TagSource } from "./tag/tag-objects.js";
import { deleteTag, listTags, revisionObjects, taggedNamespaces, taggedObjects } from "./tag/tags.js";
import { neverMatch } from "./webhooks/injection-verdict.js";
import { labelOf, revisionLabel, tagLabel } from "./webhooks/injection-webhooks.js";

interface SetFlags extends ClusterFlags {
  readonly revision: string;
  readonly overwrite: boolean;
  readonly skipConfirmation: boolean;
  readonly webhookName: string;
  readonly autoInjectNamespaces: boolean;
}

/** `istiod tag`: names of revisions that namespaces can be labeled with. */
export function tagCommand(options: ClusterCommandOptions): Command {
  return new Command("tag")
    .description("Manage revision tags: names of revisions that namespaces can be labeled with.")
    .addCommand(listCommand(options))
    .addCommand(setCommand(options, "set"))
    .addCommand(setCommand(options, "generate"))
    .addCommand(removeCommand(options));
}

function listCommand({ env, print }: ClusterCommandOptions): Command {
  const command = new SettingsCommand("list")
    .alias("show")
    .description("List the revision tags, and the revisions without tags.")
    .addOption(
      new Option("-o, --output <format>", "output format").choices(["table", "json", "yaml"]).default("table"),
    );
  for (const option of clusterOptions()) command.addOption(option);
  return command.action(async (flags: ClusterFlags & { readonly output: string }) => {
    const tags = await withCluster(flags, env, listTags);
    if (tags.length === 0) print("No Istio revision tags found.\n");
    else if (flags.output === "json") print(`${JSON.stringify(tags, undefined, "\t")}\n`);
    else if (flags.output === "yaml") print(stringify(tags, { sortMapEntries: true }));
    else {
      const rows = tags.map(({ tag, revision, namespaces }) => [tag, revision, namespaces.join(",")]);
      print(formatTable([["TAG", "REVISION", "NAMESPACES"], ...rows], 1));
    }
  });
}

function setCommand({ env, print, warn }: ClusterCommandOptions, name: "set" | "generate"): Command {
  const command = new SettingsCommand(name)
    .description(name === "set" ? "Create or change a revision tag." : "Print the objects of a revision tag.")
    .argument("<tag>", "the tag; default for that of istio-injection=enabled")
    .addOption(new Option("-r, --revision <revision>", "revision that the tag names").makeOptionMandatory())
    .option("--overwrite", "change the tag if it exists, or if a revision has its name", false)
    .option("-y, --skip-confirmation", "create the tag although its webhooks overlap with others", false)
    .addOption(new Option("--webhook-name <name>", "name of the MutatingWebhookConfiguration").default("", ""))
    .option("--auto-inject-namespaces", "with the tag default: inject in all namespaces without labels", false);
  for (const option of clusterOptions()) command.addOption(option);
  return command.action((tag: string, flags: SetFlags) =>
    withCluster(flags, env, async (cluster) => {
      if (!/^[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?$/.test(tag))
        throw new Error(`tag ${JSON.stringify(tag)}: must have lower-case letters, digits and "-" only, at most 42`);
      if (flags.autoInjectNamespaces && tag !== "default")
        throw new Error("--auto-inject-namespaces: has no effect unless the tag is default");
      const objects = tagObjects(await tagSource(cluster, tag, flags, name));
      const overlaps = flags.skipConfirmation ? [] : await webhookOverlaps(cluster, tag, objects);
      if (name === "generate") {
        for (const overlap of overlaps) warn(`Warning: ${overlap}\n`);
        return print(
          objects.map((object) => stringify(object, { lineWidth: 0, aliasDuplicateObjects: false })).join("---\n"),
        );
      }
      if (overlaps.length > 0)
        throw new Error(`tag ${tag}: pass --skip-confirmation to create it anyway:\n${overlaps.join("\n")}`);
      if (tag === "default") await deactivateDefault(cluster);
      for (const object of objects)
        await applyObject(cluster.client, typeOf(object), object, { fieldManager: "istiod-tag", force: true });
      print(
        `Revision tag "${tag}" created, referencing control plane revision "${flags.revision}". To enable injection using this\nrevision tag, use 'kubectl label namespace <NAMESPACE> istio.io/rev=${tag}'\n`,
      );
    }),
  );
}

function removeCommand({ env, print }: ClusterCommandOptions): Command {
  const command = new SettingsCommand("remove")
    .alias("delete")
    .description("Remove a revision tag.")
    .argument("<tag>", "the tag")
    .option("-y, --skip-confirmation", "remove the tag although namespaces have it", false);
  for (const option of clusterOptions()) command.addOption(option);
  return command.action((tag: string, flags: ClusterFlags & { readonly skipConfirmation: boolean }) =>
    withCluster(flags, env, async (cluster) => {
      const { injection, services } = await taggedObjects(cluster, tag);
      if (injection.length + services.length === 0)
        throw new Error(`tag ${tag}: there is no MutatingWebhookConfiguration or Service of it`);
      const namespaces = await taggedNamespaces(cluster.client, tag);
      if (namespaces.length > 0 && !flags.skipConfirmation)
        throw new Error(
          `tag ${tag}: namespaces are injected by it: ${namespaces.join(", ")}; pass --skip-confirmation to remove it anyway`,
        );
      await deleteTag(cluster, tag);
      print(`Revision tag ${tag} removed\n`);
    }),
  );
}

/** Reads what the tag is made of. @throws Error if the revision does not exist, or if the tag must not be changed */
async function tagSource(
  cluster: Cluster,
  tag: string,
  { revision, overwrite, webhookName, autoInjectNamespaces }: SetFlags,
  command: "set" | "generate",
): Promise<TagSource> {
  if (!overwrite && tag !== "default" && command === "set") {
    const namesake = await revisionObjects(cluster, tag);
    if (namesake.injection.length + namesake.services.length > 0)
      throw new Error(`tag ${tag}: a revision of the control plane has this name; --overwrite allows the tag`);
  }
  const { injection, validation, services } = await revisionObjects(cluster, revision);
  if (injection.length > 1 || services.length > 1)
    throw new Error(`--revision ${revision}: there are several MutatingWebhookConfigurations or Services of it`);
  const [own] = injection;
  if (own === undefined)
    throw new Error(
      `--revision ${revision}: there is no MutatingWebhookConfiguration with the label istio.io/rev=${revision}`,
    );
  injectionWebhook(own);
  const existing = await taggedObjects(cluster, tag);
  if (!overwrite && existing.injection.length + existing.services.length > 0)
    throw new Error(`tag ${tag}: exists already; --overwrite changes it`);
  return {
    tag,
    revision,
    injection: own,
    validation: validation[0],
    service: services[0],
    webhookName,
    autoInjectNamespaces,
  };
}

/** Returns the findings about overlaps of a tag's webhooks with those of the cluster. */
async function webhookOverlaps(
  { client, istioNamespace }: Cluster,
  tag: string,
  objects: readonly KubernetesObject[],
): Promise<readonly string[]> {
  const isNew = new Set(objects.map(({ metadata }) => metadata?.name));
  const kept = (await listObjects(client, resources.mutatingWebhooks)).filter(
    (each) => !isNew.has(each.metadata?.name) && !(tag === "default" && isDefaultRevision(each)),
  );
  const services = await listObjects(client, resources.services, { namespace: istioNamespace });
  const files = [
    ...kept.map((each) => ({
      ...each,
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "MutatingWebhookConfiguration",
    })),
    ...services.map((each) => ({ ...each, apiVersion: "v1", kind: "Service" })),
    ...objects.filter(({ kind }) => kind === "MutatingWebhookConfiguration"),
  ].map((each, index) => ({ file: `${index}.json`, text: JSON.stringify(each) }));
  return analyzeTexts({ files, analyzers: ["webhook.Analyzer"] })
    .messages.filter(({ level, origin }) => level === "Error" && isNew.has(origin?.split(" ").at(-1)))
    .map(({ code, origin, message }) => `[${code}] (${origin}) ${message}`);
}

/** Reports whether a configuration is that of the revision default, which the tag default deactivates. */
function isDefaultRevision(object: KubernetesObject): boolean {
  return labelOf(object, revisionLabel) === "default" && labelOf(object, tagLabel) === "";
}

/** Deactivates the webhooks of the revision default, so that only those of the tag default inject. */
async function deactivateDefault(cluster: Cluster): Promise<void> {
  const { injection } = await revisionObjects(cluster, "default");
  for (const { metadata, webhooks = [] } of injection) {
    const deactivated = webhooks.map((webhook) => ({
      ...webhook,
      namespaceSelector: neverMatch,
      objectSelector: neverMatch,
    }));
    const name = { name: metadata?.name ?? "" };
    await patchObject(cluster.client, resources.mutatingWebhooks, name, { merge: { webhooks: deactivated } });
  }
}

function typeOf({ kind }: KubernetesObject): ResourceType {
  if (kind === "Service") return resources.services;
  return kind === "MutatingWebhookConfiguration" ? resources.mutatingWebhooks : resources.validatingWebhooks;
}
