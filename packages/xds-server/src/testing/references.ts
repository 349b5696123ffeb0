import { FieldReader } from "@istiod/protobuf-wire";

/** Iterates over the values of the length-delimited fields at a path of field numbers. */
function* at(message: Uint8Array, path: readonly number[]): Generator<Uint8Array> {
  const [field, ...rest] = path;
  if (field === undefined) {
    yield message;
    return;
  }
  const reader = new FieldReader(message, 0, message.length);
  while (reader.next()) {
    if (reader.field === field && reader.delimited) yield* at(message.subarray(reader.from, reader.to), rest);
  }
}

function texts(message: Uint8Array, ...path: number[]): string[] {
  return Array.from(at(message, path), (value) => Buffer.from(value).toString("utf8"));
}

const discoveryTypeField = 2;
const discoveryTypeEds = 3;

/** Returns the EDS resource name of an encoded cluster. */
export function endpointsOf(cluster: Uint8Array): string | undefined {
  const reader = new FieldReader(cluster, 0, cluster.length);
  let eds = false;
  while (reader.next())
    if (reader.field === discoveryTypeField && !reader.delimited) eds = reader.value === discoveryTypeEds;
  if (!eds) return undefined;
  return texts(cluster, 3, 2).find((name) => name !== "") ?? texts(cluster, 1)[0];
}

const connectionManager =
  "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager";

/** Returns the RDS resource names of an encoded listener. */
export function routesOf(listener: Uint8Array): string[] {
  const names: string[] = [];
  // Paths to typed_config: filters of filter_chains and default_filter_chain, and the API listener.
  const configs = [...at(listener, [3, 3, 4]), ...at(listener, [25, 3, 4]), ...at(listener, [19, 1])];
  for (const config of configs) {
    if (texts(config, 1)[0] === connectionManager) names.push(...texts(config, 2, 3, 2));
  }
  return names;
}
