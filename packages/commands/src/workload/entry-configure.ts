import { chmod, mkdir, writeFile } from "node:fs/promises";
import { isIP } from "node:net";
import { join } from "node:path";
import { revisedName } from "@istiod/config-ingestion";
import { parseValues } from "@istiod/injector";
import { type ApiClient, type KubernetesObject, resourcePath } from "@istiod/kubernetes";
import { reasonOf } from "@istiod/runtime";
import { SettingsCommand } from "@istiod/settings/command";
import { type Command, InvalidArgumentError, Option } from "commander";
import { stringify } from "yaml";
import {
  type Cluster,
  type ClusterCommandOptions,
  type ClusterFlags,
  clusterOptions,
  withCluster,
} from "../cluster/cluster.js";
import { findObject, resources } from "../cluster/objects.js";
import { configMapEntry } from "../injection-config-maps.js";
import { readMeshConfig } from "../mesh-config-text.js";
import { readNamedFile } from "../named-file.js";
import { istiodHost, machineFiles, type MachineOptions } from "./machine-files.js";
import { readWorkloadGroup, type WorkloadGroup } from "./workload-group.js";

interface ConfigureFlags extends ClusterFlags {
  readonly file?: string;
  readonly name?: string;
  readonly output: string;
  readonly clusterID?: string;
  readonly tokenDuration: number;
  readonly ingressService: string;
  readonly ingressIP?: string;
  readonly autoregister: boolean;
  readonly captureDns: boolean;
  readonly internalIP?: string;
  readonly externalIP?: string;
  readonly revision: string;
}

/** ID of a cluster whose installation names none. */
const defaultClusterId = "Kubernetes";

/** `istiod workload entry configure`: the files that the agent of a virtual machine needs. */
export function entryConfigureCommand({ env, print, warn }: ClusterCommandOptions): Command {
  const command = new SettingsCommand("configure").description(
    "Write the files that the agent of a virtual machine needs: mesh.yaml, cluster.env, hosts, root-cert.pem and istio-token.",
  );
  for (const option of configureOptions()) command.addOption(option);
  for (const option of clusterOptions("namespace of the WorkloadGroup")) command.addOption(option);
  return command.action((flags: ConfigureFlags) =>
    withCluster(flags, env, async (cluster) => {
      const group = await groupOf(cluster, flags);
      if (group.templateLabels.length > 0)
        warn(
          `Warning: WorkloadGroup ${group.namespace}/${group.name}: spec.template.labels override those of spec.metadata.labels, where labels belong: ${group.templateLabels.join(", ")}\n`,
        );
      const machine = await machineOptions(cluster, group, flags);
      // Its warnings are told where istiod reads it.
      readMeshConfig(machine.mesh.name, machine.mesh.text, () => undefined);
      const files = machineFiles(machine);
      const root = await configMapEntry(
        cluster.client,
        { namespace: group.namespace, name: "istio-ca-root-cert", key: "root-cert.pem" },
        "a namespace that istiod has written its root certificate to",
      );
      const token = await requestToken(cluster.client, group, flags.tokenDuration);
      const hosts = await hostsFile(cluster, flags, warn);
      await writeFiles(flags.output, { ...files, hosts, "root-cert.pem": root, "istio-token": token });
      warn(
        `Warning: a token of service account ${group.namespace}/${group.workload.serviceAccount} is in ${join(flags.output, "istio-token")}\n`,
      );
      print(`Configuration generation into directory ${flags.output} was successful\n`);
    }),
  );
}

function configureOptions(): readonly Option[] {
  return [
    new Option("-f, --file <file>", "file of the WorkloadGroup (default: the one of --name in the cluster)"),
    new Option("--name <name>", "name of the WorkloadGroup"),
    new Option("-o, --output <directory>", "directory of the files").makeOptionMandatory(),
    new Option("--clusterID <id>", `ID of the cluster (default: that of the injector, or ${defaultClusterId})`),
    new Option("--tokenDuration <seconds>", "lifetime of the token").default(3600).argParser(tokenDuration),
    new Option("--ingressService <name>", "Service of the gateway to istiod, as name or name.namespace").default(
      "istio-eastwestgateway",
    ),
    new Option("--ingressIP <ip>", "address of the gateway to istiod (default: that of --ingressService)").argParser(
      address,
    ),
    new Option("--autoregister", "register a WorkloadEntry when the agent connects").default(false),
    new Option("--capture-dns [boolean]", "redirect DNS queries to the agent").default(true).argParser(boolean),
    new Option("--internalIP <ip>", "address of the workload in its network").argParser(address),
    new Option("--externalIP <ip>", "address of the workload outside of its network")
      .argParser(address)
      .conflicts("internalIP"),
    new Option("-r, --revision <revision>", "revision of the control plane").default("default"),
  ];
}

/** Returns the WorkloadGroup of the flags. @throws Error if it does not exist or is invalid */
async function groupOf({ client }: Cluster, { file, name, namespace }: ConfigureFlags): Promise<WorkloadGroup> {
  if (file !== undefined) {
    const group = readWorkloadGroup(await readNamedFile("--file", file), file);
    if (namespace !== undefined && namespace !== group.namespace)
      throw new Error(`--namespace ${namespace}: ${file} has the namespace ${group.namespace}`);
    return group;
  }
  if (name === undefined || namespace === undefined)
    throw new Error("expected --file, or --name and --namespace of a WorkloadGroup in the cluster");
  const found = await findObject(client, resources.workloadGroups, { namespace, name });
  const place = `WorkloadGroup ${namespace}/${name}`;
  if (found === undefined) throw new Error(`${place}: does not exist`);
  return readWorkloadGroup(stringify(found), place);
}

async function machineOptions(
  { client, istioNamespace }: Cluster,
  group: WorkloadGroup,
  flags: ConfigureFlags,
): Promise<MachineOptions> {
  const { revision, internalIP, externalIP } = flags;
  const name = revisedName("istio", revision);
  const ip = internalIP ?? externalIP;
  return {
    group,
    mesh: {
      name: `ConfigMap ${istioNamespace}/${name}, key mesh`,
      text: await configMapEntry(client, { namespace: istioNamespace, name, key: "mesh" }, "an installed istiod"),
    },
    istioNamespace,
    revision,
    clusterId: flags.clusterID ?? (await clusterIdOf(client, istioNamespace, revision)),
    address: ip === undefined ? undefined : { ip, isExternal: internalIP === undefined },
    capturesDns: flags.captureDns,
    registers: flags.autoregister,
  };
}

/** Returns the cluster's ID in the injector's values. */
async function clusterIdOf(client: ApiClient, namespace: string, revision: string): Promise<string> {
  const name = revisedName("istio-sidecar-injector", revision);
  const text = await configMapEntry(client, { namespace, name, key: "values" }, "--clusterID");
  return parseValues(text).cluster || defaultClusterId;
}

interface TokenRequest {
  readonly status?: { readonly token?: string };
}

/** Returns a token for istiod's authority. @throws Error if the API server gives none */
async function requestToken(
  client: ApiClient,
  { namespace, workload: { serviceAccount } }: WorkloadGroup,
  seconds: number,
): Promise<string> {
  const body = {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { audiences: ["istio-ca"], expirationSeconds: seconds },
  };
  const path = resourcePath(resources.serviceAccounts, { namespace, name: serviceAccount, subresource: "token" });
  try {
    const { status } = await client.json<TokenRequest>({ method: "POST", path, body: JSON.stringify(body) });
    if (!status?.token) throw new Error("the API server gave none");
    return status.token;
  } catch (cause) {
    throw new Error(`token of service account ${namespace}/${serviceAccount}: ${reasonOf(cause)}`, { cause });
  }
}

interface GatewayService extends KubernetesObject {
  readonly spec?: { readonly externalIPs?: readonly string[] };
  readonly status?: { readonly loadBalancer?: { readonly ingress?: readonly { readonly ip?: string }[] } };
}

/** Returns the line of `/etc/hosts` by which the machine reaches istiod. Empty if no address is known. */
async function hostsFile(
  { client, istioNamespace }: Cluster,
  { ingressIP, ingressService, revision }: ConfigureFlags,
  warn: (text: string) => void,
): Promise<string> {
  const host = istiodHost(istioNamespace, revision);
  if (ingressIP !== undefined) return `${ingressIP} ${host}\n`;
  const [name = "", namespace = istioNamespace] = ingressService.split(".");
  const found = await findObject<GatewayService>(client, resources.services, { namespace, name });
  const addresses = [
    ...(found?.status?.loadBalancer?.ingress ?? []).map(({ ip }) => ip),
    ...(found?.spec?.externalIPs ?? []),
  ];
  const ip = addresses.find((each) => each !== undefined && each !== "");
  if (ip !== undefined) return `${ip} ${host}\n`;
  const reason = found === undefined ? "does not exist" : "has no IP address";
  warn(
    `Warning: hosts is empty, because Service ${namespace}/${name} ${reason}; --ingressIP gives the address by which the machine reaches ${host}\n`,
  );
  return "";
}

/** Writes files. The token is readable by its owner only. */
async function writeFiles(directory: string, files: Readonly<Record<string, string>>): Promise<void> {
  await mkdir(directory, { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    const path = join(directory, name);
    const mode = name === "istio-token" ? 0o600 : 0o644;
    await writeFile(path, text, { mode });
    await chmod(path, mode);
  }
}

function address(value: string): string {
  if (isIP(value) === 0) throw new InvalidArgumentError("expected an IP address");
  return value;
}

function boolean(value: string): boolean {
  if (value !== "true" && value !== "false") throw new InvalidArgumentError("expected true or false");
  return value === "true";
}

/** Shortest lifetime of a token that Kubernetes grants, in seconds. */
const shortestToken = 600;

function tokenDuration(value: string): number {
  if (!/^\d{1,9}$/.test(value) || Number(value) < shortestToken)
    throw new InvalidArgumentError(`expected a number of seconds, at least ${shortestToken}`);
  return Number(value);
}
