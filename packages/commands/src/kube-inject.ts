import { writeFile } from "node:fs/promises";
import { revisedName } from "@istiod/config-ingestion";
import {
  injectResources,
  parseInjectionTemplates,
  parseValues,
  type ResourceInjection,
  usesNativeSidecars,
} from "@istiod/injector";
import { type ApiClient, createApiClient } from "@istiod/kubernetes";
import { reasonOf, systemClock } from "@istiod/runtime";
import { type Command, Option } from "commander";
import { SettingsCommand } from "@istiod/settings/command";
import { configMapEntry, nodeVersions } from "./injection-config-maps.js";
import { kubeconfigAccess } from "./kubeconfig-access.js";
import { readMeshConfig } from "./mesh-config-text.js";
import { readNamedFile } from "./named-file.js";

interface KubeInjectValues {
  readonly filename?: string;
  readonly output?: string;
  readonly injectConfigFile?: string;
  readonly valuesFile?: string;
  readonly meshConfigFile?: string;
  readonly revision: string;
  readonly injectConfigMapName: string;
  readonly meshConfigMapName: string;
  readonly istioNamespace: string;
  readonly kubeconfig: string;
  readonly context: string;
}

/** The streams of `istiod kube-inject`. */
export interface KubeInjectOutput {
  print(text: string): void;
  warn(text: string): void;
  /** Reads standard input to its end. */
  stdin(): Promise<string>;
}

/** The settings of istiod's injection. */
export interface KubeInjectSettings {
  readonly compliancePolicy: ResourceInjection["compliancePolicy"];
  readonly nativeSidecars: Parameters<typeof usesNativeSidecars>[0];
}

export interface KubeInjectOptions {
  /** The environment of templates, with KUBECONFIG. */
  readonly env: NodeJS.ProcessEnv;
  /** Returns the settings when the command runs. */
  readonly settings: () => KubeInjectSettings;
}

/** `istiod kube-inject`: workloads of a file with the sidecar that the webhook would give them. */
export function kubeInjectCommand(options: KubeInjectOptions, output: KubeInjectOutput): Command {
  const command = new SettingsCommand("kube-inject").description(
    "Inject Istio's sidecar into the workloads of a file, with the flags of `istioctl kube-inject`. Other objects are copied.",
  );
  for (const option of commandOptions()) command.addOption(option);
  return command.action(async (values: KubeInjectValues) => {
    const file = values.filename ?? "";
    if (file === "") throw new Error("-f, --filename: is required");
    const injection = await readInjection(values, options, output);
    const text = file === "-" ? await output.stdin() : await readNamedFile("--filename", file);
    const injected = injectResources(text, injection);
    for (const warning of injected.warnings) output.warn(`${warning}\n`);
    if (values.output === undefined || values.output === "") output.print(injected.output);
    else await writeFile(values.output, injected.output);
  });
}

function commandOptions(): readonly Option[] {
  return [
    new Option("-f, --filename <file>", "file of the resources; - reads standard input"),
    new Option("-o, --output <file>", "file of the injected resources (default: standard output)"),
    new Option(
      "--injectConfigFile <file>",
      "injection configuration, or the template `sidecar` alone (default: of the cluster)",
    ),
    new Option("--valuesFile <file>", "values of the installation, in JSON or YAML (default: of the cluster)"),
    new Option("--meshConfigFile <file>", "mesh configuration (default: of the cluster)"),
    new Option("-r, --revision <revision>", "revision of the control plane").default("default"),
    new Option("-n, --namespace <namespace>", "accepted for compatibility, ignored: the resources name theirs"),
    new Option("-i, --istioNamespace <namespace>", "namespace of the ConfigMaps").default("istio-system"),
    new Option("--injectConfigMapName <name>", "ConfigMap of configuration and values").default(injectorConfigMap),
    new Option("--meshConfigMapName <name>", "ConfigMap of the mesh configuration").default(meshConfigMap),
    new Option("-c, --kubeconfig <file>", "kubeconfig of the cluster (default: KUBECONFIG or ~/.kube/config)").default(
      "",
    ),
    new Option("--context <name>", "context of the kubeconfig (default: the current one)").default(""),
  ];
}

/** Documents of injection, with their names for errors. */
interface InjectionTexts {
  readonly config: string;
  readonly values: string;
  readonly mesh: { readonly name: string; readonly text: string };
  readonly nativeSidecars: boolean;
}

async function readInjection(
  values: KubeInjectValues,
  { env, settings }: KubeInjectOptions,
  { warn }: KubeInjectOutput,
): Promise<ResourceInjection> {
  const { compliancePolicy, nativeSidecars } = settings();
  const texts = await readTexts(values, env, nativeSidecars);
  return {
    templates: parseInjectionTemplates(texts.config, { environment: env, now: () => systemClock.now() }),
    values: parseValues(texts.values),
    meshConfig: readMeshConfig(texts.mesh.name, texts.mesh.text, warn),
    revision: values.revision === "default" ? "" : values.revision,
    nativeSidecars: texts.nativeSidecars,
    compliancePolicy,
  };
}

/** Reads the files of the flags, and the cluster's ConfigMaps for those that are not given. */
async function readTexts(
  flags: KubeInjectValues,
  env: NodeJS.ProcessEnv,
  mode: KubeInjectSettings["nativeSidecars"],
): Promise<InjectionTexts> {
  const { injectConfigFile, valuesFile, meshConfigFile } = flags;
  if (injectConfigFile && valuesFile && meshConfigFile) {
    return {
      config: await readNamedFile("--injectConfigFile", injectConfigFile),
      values: await readNamedFile("--valuesFile", valuesFile),
      mesh: meshFile(meshConfigFile, await readNamedFile("--meshConfigFile", meshConfigFile)),
      // Without a cluster, nothing is known of its nodes.
      nativeSidecars: usesNativeSidecars(mode, undefined, ""),
    };
  }
  const client = createApiClient(await accessOf(flags, env), { userAgent: "istiod" });
  try {
    const injector = revised(flags.injectConfigMapName, injectorConfigMap, flags.revision);
    const mesh = revised(flags.meshConfigMapName, meshConfigMap, flags.revision);
    const entry = entriesOf(client, flags.istioNamespace);
    return {
      config: injectConfigFile
        ? await readNamedFile("--injectConfigFile", injectConfigFile)
        : await entry(injector, "config", "--injectConfigFile"),
      values: valuesFile
        ? await readNamedFile("--valuesFile", valuesFile)
        : await entry(injector, "values", "--valuesFile"),
      mesh: meshConfigFile
        ? meshFile(meshConfigFile, await readNamedFile("--meshConfigFile", meshConfigFile))
        : {
            name: `ConfigMap ${flags.istioNamespace}/${mesh}, key mesh`,
            text: await entry(mesh, "mesh", "--meshConfigFile"),
          },
      nativeSidecars: usesNativeSidecars(mode, mode === "auto" ? await nodeVersions(client) : undefined, ""),
    };
  } finally {
    client.close();
  }
}

async function accessOf(flags: KubeInjectValues, env: NodeJS.ProcessEnv) {
  try {
    return await kubeconfigAccess(flags, env);
  } catch (cause) {
    const message = reasonOf(cause);
    throw new Error(
      `${message}; without a cluster, --injectConfigFile, --valuesFile and --meshConfigFile are required`,
      { cause },
    );
  }
}

const injectorConfigMap = "istio-sidecar-injector";
const meshConfigMap = "istio";

/** Returns the name for a revision, unless another name was given. */
const revised = (name: string, usual: string, revision: string): string =>
  name === usual ? revisedName(name, revision) : name;

const meshFile = (file: string, text: string) => ({ name: `--meshConfigFile ${file}`, text });

const entriesOf =
  (client: ApiClient, namespace: string) =>
  (name: string, key: string, instead: string): Promise<string> =>
    configMapEntry(client, { namespace, name, key }, instead);
