import {
  createXdsServer,
  staticSource,
  type ResourceSets,
  type StaticSource,
  type XdsEvent,
  type XdsServer,
  type XdsServerOptions,
} from "@istiod/xds-server";
import { XdsClient, type Target, type XdsClientOptions } from "@istiod/xds-server/testing";
import { describe, onTestFinished } from "vitest";

export const variants = ["delta", "sotw"] as const;
export const transports = ["memory", "http2", "connect"] as const;
export type Variant = (typeof variants)[number];
export type Transport = (typeof transports)[number];

export interface Setup {
  readonly source: StaticSource;
  readonly server: XdsServer;
  readonly target: Target;
  readonly events: XdsEvent[];
  readonly client: (options?: Partial<XdsClientOptions>) => XdsClient;
}

/** A server of a static source, and how to reach it; all is ended after the test. */
export async function setup(
  variant: Variant,
  transport: Transport,
  sets: ResourceSets,
  options: XdsServerOptions = {},
  source: StaticSource = staticSource(sets),
): Promise<Setup> {
  const events: XdsEvent[] = [];
  const server = createXdsServer(source, { observe: (event) => events.push(event), ...options });
  onTestFinished(() => server.close({ graceMs: 0 }));
  const target: Target = transport === "memory" ? server : await server.listen({ port: 0, transport });
  return {
    source,
    server,
    target,
    events,
    client: (more) => {
      const client = new XdsClient(target, { variant, ...more });
      onTestFinished(() => client.close());
      return client;
    },
  };
}

/** Chunker tests for each variant, on each of the given transports. */
export function onEach(on: readonly Transport[], tests: (variant: Variant, transport: Transport) => void): void {
  for (const transport of on)
    for (const variant of variants) describe(`${variant} over ${transport}`, () => tests(variant, transport));
}
