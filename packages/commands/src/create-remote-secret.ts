import { createApiClient } from "@istiod/kubernetes";
import { type Clock, createClock } from "@istiod/runtime";
import {
  booleanSetting,
  enumSetting,
  type Environment,
  mapSetting,
  type SettingValues,
  stringSetting,
} from "@istiod/settings";
import { SettingsCommand } from "@istiod/settings/command";
import type { Command } from "commander";
import { kubeconfigAccess } from "./kubeconfig-access.js";
import { createRemoteSecret } from "./remote-secret/remote-secret.js";

const text = (flag: string, help: string, more: { placeholder?: string; short?: string; ignored?: string } = {}) =>
  stringSetting({ flag, default: "", help, ...more });

/** The flags of `istioctl create-remote-secret`, and those of `istioctl` itself that concern it. */
const remoteSecretFlags = {
  name: text("name", "ID of this cluster; empty for the UID of its namespace kube-system"),
  type: enumSetting<"remote" | "config">(
    { flag: "type", placeholder: "type", default: "remote", help: "type of the Secret: remote or config" },
    ["remote", "config"],
  ),
  serviceAccount: text(
    "service-account",
    "service account of the credentials; empty for istio-reader-service-account, or istiod with --type=config",
  ),
  createServiceAccount: booleanSetting({
    flag: "create-service-account",
    default: true,
    help: "create the service account, its role and its namespace if it does not exist",
  }),
  secretName: text("secret-name", "Secret with a token of the service account; empty for any"),
  server: text("server", "URL of the API server; empty for that of the kubeconfig", { placeholder: "url" }),
  tlsServerName: text("tls-server-name", "server name to validate in the API server's certificate"),
  authType: enumSetting<"bearer-token" | "plugin">(
    { flag: "auth-type", placeholder: "type", default: "bearer-token", help: "authentication: bearer-token or plugin" },
    ["bearer-token", "plugin"],
  ),
  authPluginName: text("auth-plugin-name", "auth provider of --auth-type=plugin"),
  authPluginConfig: mapSetting({
    flag: "auth-plugin-config",
    placeholder: "key=value",
    default: {},
    help: "configuration of --auth-plugin-name",
  }),
  manifests: text("manifests", "manifests of the service account", {
    short: "d",
    ignored: "the service account and its role are built in",
  }),
  kubeconfig: text("kubeconfig", "kubeconfig of this cluster; empty for KUBECONFIG or ~/.kube/config", {
    short: "c",
    placeholder: "file",
  }),
  context: text("context", "context of the kubeconfig; empty for the current one"),
  namespace: text("namespace", "namespace of the service account and of the Secret; empty for that of the context", {
    short: "n",
  }),
  istioNamespace: stringSetting({
    flag: "istioNamespace",
    short: "i",
    default: "istio-system",
    help: "namespace if neither --namespace nor the context names one",
  }),
} as const;

type RemoteSecretFlags = SettingValues<typeof remoteSecretFlags>;

export interface RemoteSecretOptions {
  /** The environment, with KUBECONFIG. */
  readonly env: Environment;
  /** Returns the group of the Multi-Cluster Services API that may be read, when the command runs. */
  readonly multiClusterGroup: () => string;
}

export interface RemoteSecretOutput {
  readonly print: (text: string) => void;
  readonly warn: (text: string) => void;
  readonly clock?: Clock;
}

/** `istiod create-remote-secret`: the Secret that lets an istiod elsewhere read this cluster. */
export function createRemoteSecretCommand(
  { env, multiClusterGroup }: RemoteSecretOptions,
  { print, warn, clock = createClock({ keepsProcessAlive: true }) }: RemoteSecretOutput,
): Command {
  const command = new SettingsCommand("create-remote-secret")
    .description("Print a Secret with credentials that let istiod in another cluster read this one.")
    .addSettings(remoteSecretFlags, {});
  return command.action(async (flags: RemoteSecretFlags) => {
    for (const warning of command.settingWarnings()) warn(`warn: ${warning}\n`);
    const authProvider = authProviderOf(flags);
    const access = await kubeconfigAccess(flags, env);
    const client = createApiClient(access, { userAgent: "istiod" });
    try {
      const { yaml, warning } = await createRemoteSecret(client, {
        ...flags,
        namespace: flags.namespace || access.namespace || flags.istioNamespace,
        ...(authProvider && { authProvider }),
        multiClusterGroup: multiClusterGroup(),
        clock,
      });
      if (warning !== undefined) warn(`warn: ${warning}\n`);
      print(yaml);
    } finally {
      client.close();
    }
  });
}

function authProviderOf({ authType, authPluginName: name, authPluginConfig: config }: RemoteSecretFlags) {
  if (authType === "plugin") {
    if (name === "") throw new Error("--auth-plugin-name: is required with --auth-type=plugin");
    return { name, config };
  }
  if (name !== "") throw new Error("--auth-plugin-name: has no effect without --auth-type=plugin");
  if (Object.keys(config).length > 0) throw new Error("--auth-plugin-config: has no effect without --auth-type=plugin");
  return undefined;
}
