import type { Listening, ListenOptions, XdsServer, XdsServerOptions } from "./api.js";
import type { ResourceSource } from "./source.js";
import { createXdsServer } from "./xds-server.js";

/** Serves a source on one port. Use {@link createXdsServer} for several ports. */
export async function serve<C>(
  source: ResourceSource<C>,
  options: ListenOptions & XdsServerOptions,
): Promise<XdsServer & Listening> {
  const server = createXdsServer(source, options);
  const { host, port, renew } = await server.listen(options);
  return Object.assign(server, { host, port, renew });
}
