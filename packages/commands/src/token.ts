import { createTokenKey, issueToken } from "@istiod/ca";
import { type Clock, systemClock } from "@istiod/runtime";
import { durationSetting, listSetting, type SettingValues, stringSetting } from "@istiod/settings";
import { SettingsCommand } from "@istiod/settings/command";
import { Command } from "commander";

const keyFile = stringSetting({
  flag: "tokenKeyFile",
  placeholder: "file",
  default: "",
  help: "private key that signs tokens; its public part in FILE.pub is for --tokenKeyFile of istiod discovery",
});

const createKeyFlags = { keyFile } as const;

const dayMs = 86_400_000;
const minDurationMs = 60_000;
const maxDurationMs = 366 * dayMs;

/** The flags of `kubectl create token`, and the names of the service account. */
const createFlags = {
  keyFile,
  namespace: stringSetting({
    flag: "namespace",
    short: "n",
    default: "",
    help: "namespace of the service account",
  }),
  serviceAccount: stringSetting({ flag: "service-account", default: "", help: "name of the service account" }),
  audiences: listSetting({
    flag: "audience",
    placeholder: "names",
    default: ["istio-ca"],
    help: "audiences of the token, separated by commas, of which istiod's TOKEN_AUDIENCES must have one",
  }),
  lifetime: durationSetting({
    flag: "duration",
    default: dayMs,
    help: "lifetime of the token, between 1m and 8784h",
  }),
} as const;

export interface TokenOutput {
  readonly print: (text: string) => void;
  readonly clock?: Clock;
}

/** `istiod token`: tokens of service accounts for meshes without Kubernetes. */
export function tokenCommand({ print, clock = systemClock }: TokenOutput): Command {
  const group = new Command("token").description("Create tokens of service accounts, for meshes without Kubernetes.");
  const createKey = new SettingsCommand("create-key")
    .description("Create a key pair that signs tokens.")
    .addSettings(createKeyFlags, {})
    .action(async (flags: SettingValues<typeof createKeyFlags>) => {
      const path = required(flags.keyFile, "tokenKeyFile");
      const publicPath = await createTokenKey(path);
      print(`${path} signs tokens; istiod verifies them with --tokenKeyFile ${publicPath}\n`);
    });
  const create = new SettingsCommand("create")
    .description("Print a token of a service account.")
    .addSettings(createFlags, {})
    .action(async (flags: SettingValues<typeof createFlags>) => {
      const { audiences, lifetime } = flags;
      if (lifetime < minDurationMs || lifetime > maxDurationMs)
        throw new Error("--duration: must be between 1m and 8784h");
      const namespace = required(flags.namespace, "namespace");
      const serviceAccount = required(flags.serviceAccount, "service-account");
      if (audiences.length === 0) throw new Error("--audience: at least one is required");
      const path = required(flags.keyFile, "tokenKeyFile");
      print(`${await issueToken(path, { namespace, serviceAccount, audiences, lifetime }, clock.now())}\n`);
    });
  return group.addCommand(createKey).addCommand(create);
}

function required(value: string, flag: string): string {
  if (value === "") throw new Error(`--${flag}: is required`);
  return value;
}
