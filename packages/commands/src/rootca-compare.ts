import { X509Certificate } from "node:crypto";
import { readConfigDump, secretsJson } from "@istiod/proxy-config";
import { SettingsCommand } from "@istiod/settings/command";
import type { Command } from "commander";
import { clusterOptions, type ClusterFlags } from "./cluster/cluster.js";
import { podEnvoy } from "./cluster/envoy-admin.js";
import type { OfflineMeshes } from "./offline-mesh.js";

/** `istiod proxy-config rootca-compare`: whether two Pods trust a common root, without which they cannot connect. */
export function rootCaCompareCommand({ env }: OfflineMeshes, print: (text: string) => void): Command {
  const command = new SettingsCommand("rootca-compare")
    .alias("rc")
    .description("Compare the root certificates of two Pods. Exits with 2 if they have none in common.")
    .argument("<pod>", "the first Pod, as name or name.namespace")
    .argument("<other>", "the second Pod");
  for (const option of clusterOptions()) command.addOption(option);
  return command.action(async (first: string, second: string, flags: ClusterFlags) => {
    const pods = await Promise.all(
      [first, second].map(async (given) => {
        const { pod, admin } = await podEnvoy(flags, env, given);
        const name = `${pod.metadata.name}.${pod.metadata.namespace}`;
        const roots = rootsOf(await admin("GET", "/config_dump"));
        if (roots.size === 0) throw new Error(`Pod ${name}: its proxy has no secret ROOTCA`);
        return { name, roots };
      }),
    );
    const [one, other] = pods;
    const common = [...(one?.roots ?? [])].filter((root) => other?.roots.has(root));
    const both = `[${one?.name}] and [${other?.name}]`;
    if (common.length === 0)
      throw new Error(
        `Both ${both} have the non identical ROOTCA, theoretically the connectivity between them is unavailable`,
      );
    print(`Both ${both} have the identical ROOTCA, theoretically the connectivity between them is available\n`);
  });
}

/** Returns the fingerprints of the certificates in the secret ROOTCA. */
function rootsOf(dump: string): ReadonlySet<string> {
  const roots = new Set<string>();
  for (const text of bytesIn(namedRoot(secretsJson(readConfigDump(dump)))))
    for (const pem of text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [])
      roots.add(new X509Certificate(pem).fingerprint256);
  return roots;
}

/** Returns the objects with the name ROOTCA in a value. */
function namedRoot(value: unknown): unknown[] {
  if (typeof value !== "object" || value === null) return [];
  if ((value as { readonly name?: unknown }).name === "ROOTCA") return [value];
  return Object.values(value).flatMap(namedRoot);
}

/** Returns the texts of all data sources in a value. */
function bytesIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, part]) => {
    if (typeof part !== "string") return bytesIn(part);
    if (/^inline_?bytes$/i.test(key)) return [Buffer.from(part, "base64").toString()];
    return /^inline_?string$/i.test(key) ? [part] : [];
  });
}
