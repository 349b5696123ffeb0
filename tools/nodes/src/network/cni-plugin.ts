import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { findIptables } from "@istiod/iptables-binary";
import { parse } from "yaml";
import type { Pod } from "../kube/objects.js";
import { type Namespaces, runCommand } from "./commands.js";

const SPEC_VERSION = "1.0.0";

/** A plugin of the Container Network Interface (CNI) that follows the nodes' own network. */
export interface CniPlugin {
  /** Path of the executable. */
  readonly path: string;
  /** The configuration that it reads, without `prevResult`. */
  readonly config: Readonly<Record<string, unknown>>;
}

/**
 * Reads the configuration of a plugin, as in a list of `/etc/cni/net.d`. Its `type` is the path of the executable,
 * relative to the file.
 *
 * @throws Error that names the file and the field
 */
export async function readCniPlugin(file: string): Promise<CniPlugin> {
  const config: unknown = parse(await readFile(file, "utf8"));
  if (typeof config !== "object" || config === null) throw new Error(`${file}: must be a map`);
  const { type } = config as Readonly<Record<string, unknown>>;
  if (typeof type !== "string" || !type.includes("/"))
    throw new Error(`${file}: type: must be the path of an executable`);
  return { path: resolve(dirname(file), type), config: config as CniPlugin["config"] };
}

/**
 * Calls a plugin for a Pod whose network exists (CNI 1.0, ADD).
 *
 * @throws Error with what the plugin printed, if it fails
 */
export async function addByPlugin(
  { path, config }: CniPlugin,
  { metadata: { name, namespace, uid } }: Pod,
  podIP: string,
  { pid }: Namespaces,
): Promise<void> {
  const sandbox = `/proc/${pid}/ns/net`;
  const prevResult = {
    cniVersion: SPEC_VERSION,
    interfaces: [{ name: "eth0", sandbox }],
    ips: [{ address: `${podIP}/32`, interface: 0 }],
  };
  const env = {
    ...process.env,
    ...(await findIptables()),
    CNI_COMMAND: "ADD",
    CNI_CONTAINERID: uid,
    CNI_NETNS: sandbox,
    CNI_IFNAME: "eth0",
    CNI_PATH: dirname(path),
    CNI_ARGS: Object.entries({ K8S_POD_NAME: name, K8S_POD_NAMESPACE: namespace ?? "", K8S_POD_UID: uid })
      .map(([key, value]) => `${key}=${value}`)
      .concat("IgnoreUnknown=1")
      .join(";"),
  };
  const input = JSON.stringify({ cniVersion: SPEC_VERSION, name: "pods", ...config, prevResult });
  await runCommand([path], { input, env });
}
