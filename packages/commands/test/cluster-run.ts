import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ClusterCommandOptions } from "@istiod/commands";
import { startApiServer } from "@istiod/kubernetes/testing";
import type { Command } from "commander";
import { afterAll, beforeAll, onTestFinished } from "vitest";
import { parseAllDocuments } from "yaml";

/** The result of a command. */
export interface Run {
  readonly out: string;
  readonly warnings: string;
  readonly exit: number | undefined;
}

export type TestCluster = Awaited<ReturnType<typeof startApiServer>>;
type TestObject = Parameters<TestCluster["objects"]["create"]>[0];
type ServerOptions = Parameters<typeof startApiServer>[0];

/** An API server, and a function that runs a command with its kubeconfig. */
export interface CommandCluster {
  readonly server: TestCluster;
  run(command: (options: ClusterCommandOptions) => Command, ...args: readonly string[]): Promise<Run>;
}

/** An API server with objects, while the test runs. */
export async function clusterWith(yaml: string, options: ServerOptions = {}): Promise<CommandCluster> {
  const { close, ...cluster } = await start(yaml, options);
  onTestFinished(close);
  return cluster;
}

/** Returns a function for the API server with objects that all tests of a suite share. They must not change it. */
export function sharedCluster(yaml: string, options: ServerOptions = {}): () => CommandCluster {
  let started: (CommandCluster & { close(): Promise<void> }) | undefined;
  beforeAll(async () => void (started = await start(yaml, options)));
  afterAll(() => started?.close());
  return () => {
    if (started === undefined) throw new Error("the API server runs during tests only");
    return started;
  };
}

async function start(yaml: string, options: ServerOptions): Promise<CommandCluster & { close(): Promise<void> }> {
  const server = await startApiServer({ validation: false, ...options });
  const objects = parseAllDocuments(yaml).flatMap((document) => (document.toJS() as TestObject | null) ?? []);
  // The server calls the webhooks that it has.
  const isWebhook = ({ kind }: TestObject): boolean => kind.endsWith("WebhookConfiguration");
  for (const object of [...objects.filter((each) => !isWebhook(each)), ...objects.filter(isWebhook)]) {
    await server.objects.create(object);
    const { status } = object;
    if (status !== undefined) await server.objects.updateStatus({ ...object, status });
  }
  const directory = await mkdtemp(join(tmpdir(), "istiod-kubeconfig-"));
  const kubeconfig = join(directory, "config");
  await writeFile(kubeconfig, server.kubeconfig.yaml);
  return {
    server,
    run: (command, ...args) => run(command, { KUBECONFIG: kubeconfig }, args),
    close: async () => {
      await server.stop();
      await rm(directory, { recursive: true });
    },
  };
}

/** Runs a command in this process. */
export async function run(
  command: (options: ClusterCommandOptions) => Command,
  env: ClusterCommandOptions["env"],
  args: readonly string[],
): Promise<Run> {
  const result: { out: string; warnings: string; exit: number | undefined } = {
    out: "",
    warnings: "",
    exit: undefined,
  };
  const built = command({
    env,
    print: (text) => (result.out += text),
    warn: (text) => (result.warnings += text),
    exit: (status) => (result.exit = status),
  });
  for (const each of [built, ...built.commands, ...built.commands.flatMap(({ commands }) => commands)])
    each.exitOverride().configureOutput({ writeErr: (text) => (result.warnings += text) });
  await built.parseAsync([...args], { from: "user" });
  return result;
}
