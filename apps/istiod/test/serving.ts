import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import { pino } from "pino";
import { type Discovery, flagDefaults, type FlagValues, startDiscovery } from "@istiod/istiod";
import { XdsClient } from "@istiod/xds-server/testing";
import type { Variant } from "@istiod/xds-server";
import { onTestFinished } from "vitest";

/** A temporary directory with these files, by relative path. */
export async function folder(files: Readonly<Record<string, string>>): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), "istiod-"));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), text);
  }
  return root;
}

/** The flags with their defaults, over which some are set; nothing listens but what is named. */
export function flagValues(set: Partial<FlagValues>): FlagValues {
  const quiet = {
    meshConfig: "",
    networksConfig: "",
    grpcAddr: "127.0.0.1:0",
    secureGRPCAddr: "",
    httpAddr: "127.0.0.1:0",
    httpsAddr: "",
    monitoringAddr: "",
    shutdownDuration: 1000,
  };
  return { ...flagDefaults({}), ...quiet, ...set };
}

export interface LogLine {
  readonly level: string;
  readonly msg: string;
}

/** Istiod inside this process, ready. */
export async function serve(
  set: Partial<FlagValues>,
  env: NodeJS.ProcessEnv = {},
): Promise<Discovery & { readonly lines: readonly LogLine[]; readonly http: string }> {
  const lines: LogLine[] = [];
  const log = pino(
    { level: "debug", base: null, formatters: { level: (level) => ({ level }) } },
    { write: (line: string) => void lines.push(JSON.parse(line) as LogLine) },
  );
  const discovery = await startDiscovery(flagValues(set), { PILOT_DEBOUNCE_AFTER: "10ms", ...env }, log, "0.1.0");
  onTestFinished(() => discovery.close());
  return { ...discovery, lines, http: `http://127.0.0.1:${discovery.addresses["httpAddr"]?.port}` };
}

/** A client of an istiod that runs. */
export function client(
  { addresses }: Discovery,
  variant: Variant,
  node: ConstructorParameters<typeof XdsClient>[1]["node"],
): XdsClient {
  const found = new XdsClient(
    { host: "127.0.0.1", port: addresses["grpcAddr"]?.port ?? 0 },
    { variant, ...(node !== undefined && { node }) },
  );
  onTestFinished(() => found.close());
  return found;
}

/** The resources in a response, decoded. */
export function decoded<D extends DescMessage>(
  schema: D,
  response: Awaited<ReturnType<XdsClient["accept"]>>,
): MessageShape<D>[] {
  return response.resources.map(({ bytes }) => fromBinary(schema, bytes));
}
