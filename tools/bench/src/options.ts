import type { MeshOptions } from "./mesh/mesh.js";

/**
 * Reads a whole number above 0.
 *
 * @throws Error that names the flag
 */
export function positive(flag: string, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value <= 0) throw new Error(`--${flag} ${text}: expected a whole number above 0`);
  return value;
}

/**
 * Runs a command. Exit status: 0 if the measurements are as required, 1 if not, 2 with a message if it failed to run.
 */
export async function runCommand(name: string, command: () => Promise<boolean>): Promise<void> {
  try {
    process.exitCode = (await command()) ? 0 : 1;
  } catch (error) {
    console.error(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 2;
  }
}

/** Flags of all commands that generate a mesh. */
export const meshFlags = {
  services: { type: "string", default: "200" },
  namespaces: { type: "string", default: "10" },
  endpoints: { type: "string", default: "3" },
  proxies: { type: "string", default: "50" },
  "in-first": { type: "string" },
  scoped: { type: "boolean", default: false },
  "envoy-filters": { type: "boolean", default: false },
  seed: { type: "string", default: "1" },
} as const;

export const meshUsage = `  --services 200     services, each with pods, a weighted VirtualService and a DestinationRule
  --namespaces 10    namespaces of the services
  --endpoints 3      pods of each service
  --proxies 50       pods with a sidecar, in addition to two gateways
  --in-first N       sidecars in the first namespace (default: random)
  --scoped           one Sidecar per namespace that limits visibility to the namespace itself and the root namespace
  --envoy-filters    20 EnvoyFilters of the usual kinds for all proxies
  --seed 1           random seed; equal seeds generate equal meshes`;

/** @throws Error that names the flag with an invalid value */
export function meshOptions(
  values: { readonly [F in Exclude<keyof typeof meshFlags, "in-first" | "scoped" | "envoy-filters">]: string } & {
    readonly "in-first"?: string | undefined;
    readonly scoped: boolean;
    readonly "envoy-filters": boolean;
  },
): MeshOptions {
  const inFirst = values["in-first"];
  return {
    services: positive("services", values.services),
    namespaces: positive("namespaces", values.namespaces),
    endpoints: positive("endpoints", values.endpoints),
    proxies: positive("proxies", values.proxies),
    ...(inFirst !== undefined && { inFirst: positive("in-first", inFirst) }),
    scoped: values.scoped ? 1 : 0,
    envoyFilters: values["envoy-filters"],
    seed: positive("seed", values.seed),
  };
}
