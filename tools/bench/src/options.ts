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
 * Runs a command: status 0 if what it measured is as it should be, 1 if not, 2 with a sentence where it could not be
 * run.
 */
export async function runCommand(name: string, command: () => Promise<boolean>): Promise<void> {
  try {
    process.exitCode = (await command()) ? 0 : 1;
  } catch (error) {
    console.error(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 2;
  }
}

/** The flags of all commands that make a mesh. */
export const meshFlags = {
  services: { type: "string", default: "200" },
  namespaces: { type: "string", default: "10" },
  endpoints: { type: "string", default: "3" },
  proxies: { type: "string", default: "50" },
  "in-first": { type: "string" },
  scoped: { type: "boolean", default: false },
  seed: { type: "string", default: "1" },
} as const;

export const meshUsage = `  --services 200     services, each with pods, a weighted VirtualService and a DestinationRule
  --namespaces 10    that they are spread over
  --endpoints 3      pods of each service
  --proxies 50       pods that carry a proxy; two gateways come on top
  --in-first N       of them in the first namespace; default: as chance has it
  --scoped           one Sidecar a namespace that limits what it sees to itself and the root namespace
  --seed 1           equal seeds give equal meshes`;

/** @throws Error that names the flag whose value cannot be used */
export function meshOptions(
  values: { readonly [F in Exclude<keyof typeof meshFlags, "in-first" | "scoped">]: string } & {
    readonly "in-first"?: string | undefined;
    readonly scoped: boolean;
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
    seed: positive("seed", values.seed),
  };
}
