import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import type { Any } from "@bufbuild/protobuf/wkt";
import { type Cluster, ClusterSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { ClusterLoadAssignmentSchema } from "@istiod/envoy-api/envoy/config/endpoint/v3/endpoint";
import { type Listener, ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { RouteConfigurationSchema, type RouteConfiguration } from "@istiod/envoy-api/envoy/config/route/v3/route";
import { type Secret, SecretSchema } from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/secret";
import { resourceJson } from "@istiod/explain";
import { clusterType, endpointType, listenerType, routeType, secretType } from "@istiod/xds-server";
import type { EnvoyClient, ReceivedResource } from "@istiod/xds-server/testing";

export const heldTypes = [clusterType, endpointType, listenerType, routeType, secretType];

/** The configuration that a proxy holds, decoded. */
export class HeldConfig {
  readonly #resources: (typeUrl: string) => ReadonlyMap<string, Pick<ReceivedResource, "bytes">>;

  constructor(client: Pick<EnvoyClient, "resources">) {
    this.#resources = (typeUrl) => client.resources(typeUrl);
  }

  get clusters(): readonly Cluster[] {
    return this.#all(clusterType, ClusterSchema);
  }

  get listeners(): readonly Listener[] {
    return this.#all(listenerType, ListenerSchema);
  }

  get routes(): readonly RouteConfiguration[] {
    return this.#all(routeType, RouteConfigurationSchema);
  }

  get secrets(): readonly Secret[] {
    return this.#all(secretType, SecretSchema);
  }

  /** Returns `address:port` of each endpoint of a cluster. */
  endpoints(cluster: string): readonly string[] {
    const found = this.#resources(endpointType).get(cluster);
    if (found === undefined) return [];
    const { endpoints } = fromBinary(ClusterLoadAssignmentSchema, found.bytes);
    return endpoints.flatMap(({ lbEndpoints }) =>
      lbEndpoints.map(({ hostIdentifier: { case: kind, value } }) => {
        const address = kind === "endpoint" ? value.address?.address : undefined;
        return address?.case === "socketAddress"
          ? `${address.value.address}:${address.value.portSpecifier.value}`
          : `no socket address: ${kind}`;
      }),
    );
  }

  /** Returns the values of all messages of a type in an `Any` of listeners' filters. */
  filters<D extends DescMessage>(schema: D, anys: readonly (Any | undefined)[]): readonly MessageShape<D>[] {
    return anys.flatMap((any) =>
      any?.typeUrl.endsWith(`/${schema.typeName}`) === true ? [fromBinary(schema, any.value)] : [],
    );
  }

  /** Decodes every resource to the last `Any`. @throws Error if one cannot be decoded, or names itself differently */
  decodeAll(): void {
    for (const typeUrl of heldTypes)
      for (const [name, { bytes }] of this.#resources(typeUrl)) {
        const json = resourceJson(typeUrl, bytes) as { readonly name?: string; readonly clusterName?: string };
        if ((json.name ?? json.clusterName) !== name) throw new Error(`${typeUrl} ${name} has another name in it`);
      }
  }

  #all<D extends DescMessage>(typeUrl: string, schema: D): MessageShape<D>[] {
    return [...this.#resources(typeUrl).values()].map(({ bytes }) => fromBinary(schema, bytes));
  }
}
