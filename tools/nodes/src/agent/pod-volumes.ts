import { chmod, chown, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Pod, Volume } from "../kube/objects.js";
import { volumeFiles, type VolumeSources } from "./volume-content.js";
import { writeVolume } from "./volume-files.js";

/** Folder of the token, the root certificate and the namespace of a pod's service account. */
const ACCOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount";
const ACCOUNT_VOLUME = "..kube-api-access";

/** The volume that admission adds to pods of a real cluster, for pods that have nothing at its path. */
const accountVolume: Volume = {
  name: ACCOUNT_VOLUME,
  projected: {
    sources: [
      { serviceAccountToken: { path: "token", expirationSeconds: 3607 } },
      { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
      { downwardAPI: { items: [{ path: "namespace", fieldRef: { fieldPath: "metadata.namespace" } }] } },
    ],
  },
};

/** Adds the volume of the service account's token to a pod that does not decline it. */
export function withAccountVolume(pod: Pod): Pod {
  const { spec } = pod;
  if (spec.automountServiceAccountToken === false) return pod;
  const mounts = { name: ACCOUNT_VOLUME, mountPath: ACCOUNT_PATH, readOnly: true };
  const add = <C extends Pod["spec"]["containers"][number]>(container: C): C => {
    const isMounted = container.volumeMounts?.some(({ mountPath }) => mountPath === ACCOUNT_PATH);
    return isMounted ? container : { ...container, volumeMounts: [...(container.volumeMounts ?? []), mounts] };
  };
  return {
    ...pod,
    spec: {
      ...spec,
      volumes: [...(spec.volumes ?? []), accountVolume],
      ...(spec.initContainers && { initContainers: spec.initContainers.map(add) }),
      containers: spec.containers.map(add),
    },
  };
}

/** The folders of a pod's volumes. */
export class PodVolumes {
  readonly #written = new Map<string, string>();
  #updated: Promise<unknown> = Promise.resolve();

  constructor(
    readonly directory: string,
    readonly sources: VolumeSources,
  ) {}

  /** Returns the folder or file of this machine of a volume. @throws Error if the volume does not exist */
  pathOf(pod: Pod, name: string): string {
    const volume = pod.spec.volumes?.find((candidate) => candidate.name === name);
    if (!volume) throw new Error(`volumeMounts: volume ${name} not found`);
    return volume.hostPath?.path ?? join(this.directory, "volumes", name);
  }

  /** Fills all volumes, and replaces the content of those that have changed, after updates that have begun before. */
  async update(pod: Pod): Promise<void> {
    const previous = this.#updated;
    const update = async (): Promise<void> => {
      await previous.catch(() => undefined);
      for (const volume of pod.spec.volumes ?? []) await this.#update(pod, volume);
    };
    this.#updated = update();
    await this.#updated;
  }

  async #update(pod: Pod, volume: Volume): Promise<void> {
    const files = await volumeFiles(pod, volume, this.sources);
    const group = pod.spec.securityContext?.fsGroup;
    const directory = this.pathOf(pod, volume.name);
    if (volume.hostPath) return void (volume.hostPath.type === "DirectoryOrCreate" && (await createFolder(directory)));
    if (!files) return await createFolder(directory, group);
    const digest = JSON.stringify(
      [...files].map(([path, { content, mode }]) => [path, mode, content.toString("base64")]),
    );
    if (this.#written.get(volume.name) === digest) return;
    await writeVolume(directory, files, group);
    this.#written.set(volume.name, digest);
  }
}

/** Creates a folder that everybody may write, as the kubelet does for emptyDir. */
async function createFolder(directory: string, group?: number): Promise<void> {
  await mkdir(directory, { recursive: true });
  await chmod(directory, group === undefined ? 0o777 : 0o2777);
  if (group !== undefined) await chown(directory, 0, group);
}

/** Writes a pod's `resolv.conf` and `hosts` files. Returns their paths by the path in the container. */
export async function writeNameFiles(
  directory: string,
  { metadata, spec }: Pod,
  { podIP, nameserver }: { readonly podIP: string; readonly nameserver: string },
): Promise<Record<string, string>> {
  const { dnsPolicy = "ClusterFirst", dnsConfig } = spec;
  const isOwn = dnsPolicy === "None";
  const domain = "svc.cluster.local";
  const nameservers = [...(isOwn ? [] : [nameserver]), ...(dnsConfig?.nameservers ?? [])];
  const searches = [
    ...(isOwn ? [] : [`${metadata.namespace}.${domain}`, domain, "cluster.local"]),
    ...(dnsConfig?.searches ?? []),
  ];
  const options = new Map<string, string | undefined>(isOwn ? [] : [["ndots", "5"]]);
  for (const { name, value } of dnsConfig?.options ?? []) options.set(name, value);
  const flags = [...options].map(([name, value]) => (value === undefined ? name : `${name}:${value}`));
  const resolv = [
    ...(searches.length > 0 ? [`search ${searches.join(" ")}`] : []),
    ...nameservers.map((address) => `nameserver ${address}`),
    ...(flags.length > 0 ? [`options ${flags.join(" ")}`] : []),
  ];
  const hostname = spec.hostname ?? metadata.name;
  const qualified = spec.subdomain ? `${hostname}.${spec.subdomain}.${metadata.namespace}.${domain} ` : "";
  const hosts = ["127.0.0.1 localhost", "::1 localhost", `${podIP} ${qualified}${hostname}`];
  for (const { ip, hostnames = [] } of spec.hostAliases ?? []) hosts.push(`${ip} ${hostnames.join(" ")}`);
  await writeFile(join(directory, "resolv.conf"), `${resolv.join("\n")}\n`);
  await writeFile(join(directory, "hosts"), `${hosts.join("\n")}\n`);
  return { "/etc/resolv.conf": join(directory, "resolv.conf"), "/etc/hosts": join(directory, "hosts") };
}
