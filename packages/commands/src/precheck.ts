import {
  type Format,
  type FormattedMessage,
  formatMessages,
  formats,
  isAtLeast,
  type Level,
  levels,
} from "@istiod/analysis";
import { isAtLeast as isServerAtLeast, readServerVersion, reviewSelfAccess } from "@istiod/kubernetes";
import { reasonOf } from "@istiod/runtime";
import { SettingsCommand } from "@istiod/settings/command";
import { type Command, InvalidArgumentError, Option } from "commander";
import { analyzeCluster } from "./cluster/cluster-analysis.js";
import {
  type Cluster,
  type ClusterCommandOptions,
  type ClusterFlags,
  clusterOptions,
  withCluster,
} from "./cluster/cluster.js";
import { findObject, resources } from "./cluster/objects.js";

interface PrecheckFlags extends ClusterFlags {
  readonly skipControlplane: boolean;
  readonly outputThreshold: Level;
  readonly output: Format;
  readonly fromVersion?: number;
  readonly revision?: string;
}

/** The oldest minor version of Kubernetes 1 that is supported. */
const OLDEST_KUBERNETES = 30;

/** Analyzers of what an installation or upgrade depends on. */
const precheckAnalyzers = ["annotations.AlphaAnalyzer", "k8sgateway.CRDVersionAnalyzer"];

/** `istiod precheck`: whether a cluster lets istiod be installed or upgraded. */
export function precheckCommand({ env, print, warn, exit }: ClusterCommandOptions): Command {
  const command = new SettingsCommand("precheck")
    .description("Check whether istiod can be installed or upgraded in a cluster. Exits with 1 if not, 2 on errors.")
    .option("--skip-controlplane", "check neither Kubernetes nor permissions, only --from-version", false)
    .addOption(new Option("-o, --output <format>", "output format").choices(formats).default("log"))
    .addOption(
      new Option("--output-threshold <level>", "print findings that are at least this severe")
        .choices(levels)
        .default("Warning"),
    )
    .addOption(
      new Option("-f, --from-version <version>", "check changes since this version, such as 1.21").argParser(
        minorVersion,
      ),
    )
    .option("-r, --revision <revision>", "revision whose configuration is checked (default: all)");
  for (const option of clusterOptions("ignored, as the whole cluster is checked")) command.addOption(option);
  return command.action((flags: PrecheckFlags) =>
    withCluster(flags, env, async (cluster) => {
      const found = [
        ...(flags.skipControlplane ? [] : await controlPlaneFindings(cluster, flags.revision, warn)),
        ...(flags.fromVersion === undefined ? [] : await upgradeFindings(cluster, flags.fromVersion)),
      ];
      const shown = found.filter(({ level }) => isAtLeast(level, flags.outputThreshold));
      if (shown.length > 0 || flags.output === "json" || flags.output === "yaml")
        print(formatMessages(shown, flags.output));
      const isSafe = found.every(({ level }) => !isAtLeast(level, "Warning"));
      if (isSafe) warn("\u2714 No issues found when checking the cluster. Istio is safe to install or upgrade!\n");
      else warn("Issues found when checking the cluster. Istio may not be safe to install or upgrade.\n");
      exit(isSafe ? 0 : 1);
    }),
  );
}

async function controlPlaneFindings(
  cluster: Cluster,
  revision: string | undefined,
  warn: (text: string) => void,
): Promise<FormattedMessage[]> {
  const { messages, unread } = await analyzeCluster(cluster, {
    files: [],
    analyzers: precheckAnalyzers,
    ...(revision !== undefined && { revision }),
  });
  for (const reason of unread) warn(`Warning: checked without ${reason}\n`);
  return [...(await versionFindings(cluster)), ...(await permissionFindings(cluster)), ...messages];
}

async function versionFindings({ client }: Cluster): Promise<FormattedMessage[]> {
  const version = await readServerVersion(client);
  if (isServerAtLeast(version, 1, OLDEST_KUBERNETES)) return [];
  return [
    finding(
      "IST0142",
      "Error",
      `The Kubernetes Version "${version.gitVersion}" is lower than the minimum version: 1.${OLDEST_KUBERNETES}`,
    ),
  ];
}

/** Objects that the charts create, by API group, and whether in the namespace of the control plane. */
const created: readonly { readonly group: string; readonly resource: string; readonly isNamespaced?: true }[] = [
  { group: "", resource: "namespaces" },
  { group: "rbac.authorization.k8s.io", resource: "clusterroles" },
  { group: "rbac.authorization.k8s.io", resource: "clusterrolebindings" },
  { group: "apiextensions.k8s.io", resource: "customresourcedefinitions" },
  { group: "rbac.authorization.k8s.io", resource: "roles", isNamespaced: true },
  { group: "", resource: "serviceaccounts", isNamespaced: true },
  { group: "", resource: "services", isNamespaced: true },
  { group: "apps", resource: "deployments", isNamespaced: true },
  { group: "", resource: "configmaps", isNamespaced: true },
  { group: "admissionregistration.k8s.io", resource: "mutatingwebhookconfigurations" },
  { group: "admissionregistration.k8s.io", resource: "validatingwebhookconfigurations" },
];

async function permissionFindings({ client, istioNamespace }: Cluster): Promise<FormattedMessage[]> {
  const reasons = await Promise.all(
    created.map(async ({ group, resource, isNamespaced }) => {
      const access = {
        verb: "create",
        group,
        version: "v1",
        resource,
        ...(isNamespaced && { namespace: istioNamespace }),
      };
      try {
        const { allowed, reason } = await reviewSelfAccess(client, access);
        return allowed ? undefined : { resource, reason: reason || "permission denied" };
      } catch (error) {
        return { resource, reason: reasonOf(error) };
      }
    }),
  );
  return reasons.flatMap((found) =>
    found === undefined
      ? []
      : [
          finding(
            "IST0141",
            "Error",
            `Missing required permission to create resource ${found.resource} (${found.reason})`,
          ),
        ],
  );
}

/** Returns the changes of defaults since a minor version of Istio 1 that matter in the cluster. */
async function upgradeFindings({ client, istioNamespace }: Cluster, minor: number): Promise<FormattedMessage[]> {
  if (minor > 21) return [];
  const zipkin = await findObject(client, resources.services, { namespace: istioNamespace, name: "zipkin" });
  if (zipkin === undefined) return [];
  return [
    {
      ...finding(
        "IST0169",
        "Warning",
        `The configuration "meshConfig.defaultConfig.tracer" changed in release 1.21: spans are no longer sent to zipkin.istio-system.svc by default; configure a provider and a Telemetry`,
      ),
      origin: `Service ${istioNamespace}/zipkin`,
    },
  ];
}

function finding(code: string, level: Level, message: string): FormattedMessage {
  return {
    code,
    level,
    message,
    documentationUrl: `https://istio.io/latest/docs/reference/config/analysis/${code.toLowerCase()}/`,
  };
}

function minorVersion(value: string): number {
  const minor = /^1\.(\d+)(\.\d+)?$/.exec(value)?.[1];
  if (minor === undefined) throw new InvalidArgumentError("expected a version of Istio such as 1.21");
  return Number(minor);
}
