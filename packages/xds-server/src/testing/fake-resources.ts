import { delimitedFieldSize, writeDelimitedHeader } from "@istiod/protobuf-wire";
import { resource, type Resource } from "@istiod/resources";

const nameField = 1;
const contentField = 15;
/** `eds_cluster_config` and its `service_name`, `type` and its value `EDS` in `envoy.config.cluster.v3.Cluster`. */
const edsClusterConfigField = 3;
const serviceNameField = 2;
const edsType = Uint8Array.of(2 << 3, 3);

/**
 * A resource with its name in field 1, as in every Envoy resource type, and with arbitrary content in an unknown field.
 */
export function fakeResource(name: string, content = ""): Resource {
  return resource(name, Buffer.concat([field(nameField, name), field(contentField, content)]));
}

/** A cluster whose endpoints have another name. */
export function fakeCluster(name: string, content: string, serviceName: string): Resource {
  const config = field(edsClusterConfigField, field(serviceNameField, serviceName));
  return resource(name, Buffer.concat([field(nameField, name), config, field(contentField, content)]));
}

/** A cluster of type EDS whose endpoints have the cluster's name. */
export function fakeEdsCluster(name: string, content = ""): Resource {
  return resource(name, Buffer.concat([field(nameField, name), edsType, field(contentField, content)]));
}

const httpConnectionManager =
  "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager";

/** A listener with a filter chain for each of the route configurations. */
export function fakeListener(name: string, content: string, routes: readonly string[]): Resource {
  const chains = routes.map((route) => {
    const manager = field(3, field(2, route));
    const config = Buffer.concat([field(1, httpConnectionManager), field(2, manager)]);
    return field(3, field(3, field(4, config)));
  });
  return resource(name, Buffer.concat([field(nameField, name), ...chains, field(contentField, content)]));
}

function field(number: number, value: string | Uint8Array): Buffer {
  const content = Buffer.from(value);
  const bytes = Buffer.alloc(delimitedFieldSize(content.length));
  content.copy(bytes, writeDelimitedHeader(bytes, 0, number, content.length));
  return bytes;
}
