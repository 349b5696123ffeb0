import { watch } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { create, toBinary, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { ClusterSchema, Cluster_DiscoveryType } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { ClusterLoadAssignmentSchema } from "@istiod/envoy-api/envoy/config/endpoint/v3/endpoint";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import { HttpConnectionManagerSchema } from "@istiod/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager";
import { resource, type Resource } from "@istiod/resources";
import {
  clusterType,
  endpointType,
  listenerType,
  routeType,
  staticSource,
  type ResourceSets,
  type StaticSource,
} from "@istiod/xds-server";
import { parse } from "yaml";

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly endpoints?: readonly { readonly addresses: readonly string[] }[];
  readonly spec?: {
    readonly trafficPolicy?: { readonly outlierDetection?: { readonly consecutive5xxErrors?: number } };
    readonly http?: readonly { readonly route?: readonly { readonly weight?: number }[] }[];
  };
}

const ads = { configSourceSpecifier: { case: "ads", value: {} } } as const;

/**
 * A source that follows a directory of Kubernetes objects, as little as makes each type of resource change: a cluster
 * with endpoints for each Service, one listener, and one table of routes.
 */
export async function toyMesh(directory: string): Promise<StaticSource & { stop(): void }> {
  const source = staticSource(await load(directory));
  let timer: NodeJS.Timeout | undefined;
  const watcher = watch(directory, () => {
    clearTimeout(timer);
    timer = setTimeout(() => void load(directory).then((sets) => source.set(sets)), 20);
  });
  return Object.assign(source, {
    stop: () => {
      clearTimeout(timer);
      watcher.close();
    },
  });
}

async function load(directory: string): Promise<ResourceSets> {
  const manifests = new Map<string, Manifest>();
  for (const file of (await readdir(directory)).filter((name) => name.endsWith(".yaml"))) {
    const manifest = await readFile(join(directory, file), "utf8").then(
      (text) => parse(text) as Manifest,
      () => undefined,
    );
    if (manifest)
      manifests.set(`${manifest.kind}/${manifest.metadata.namespace ?? ""}/${manifest.metadata.name}`, manifest);
  }
  const clusters: Resource[] = [];
  const endpoints: Resource[] = [];
  const virtualHosts = [];
  for (const { kind, metadata } of manifests.values()) {
    if (kind !== "Service") continue;
    const key = `${metadata.namespace}/${metadata.name}`;
    const host = `${metadata.name}.${metadata.namespace}.svc.cluster.local`;
    const name = `outbound|80||${host}`;
    const errors = manifests.get(`DestinationRule/${key}`)?.spec?.trafficPolicy?.outlierDetection?.consecutive5xxErrors;
    clusters.push(
      encoded(name, ClusterSchema, {
        name,
        clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.EDS },
        edsClusterConfig: { edsConfig: ads, serviceName: name },
        ...(errors !== undefined && { outlierDetection: { consecutive5xx: errors } }),
      }),
    );
    const addresses = manifests.get(`EndpointSlice/${key}`)?.endpoints?.flatMap((endpoint) => endpoint.addresses) ?? [];
    endpoints.push(
      encoded(name, ClusterLoadAssignmentSchema, {
        clusterName: name,
        endpoints: [{ lbEndpoints: addresses.map(lbEndpoint) }],
      }),
    );
    const rules = manifests.get(`VirtualService/${key}`)?.spec?.http ?? [];
    virtualHosts.push({
      name: key,
      domains: [host],
      routes: rules.map(({ route = [] }, i) => ({
        name: `${i}: ${route.map(({ weight }) => weight).join("/")}`,
        match: { pathSpecifier: { case: "prefix", value: "/" } } as const,
        action: { case: "route", value: { clusterSpecifier: { case: "cluster", value: name } } } as const,
      })),
    });
  }
  const manager = create(HttpConnectionManagerSchema, {
    statPrefix: "80",
    routeSpecifier: { case: "rds", value: { configSource: ads, routeConfigName: "80" } },
  });
  return {
    [clusterType]: clusters,
    [endpointType]: endpoints,
    [listenerType]: [
      encoded("0.0.0.0_80", ListenerSchema, {
        name: "0.0.0.0_80",
        filterChains: [
          {
            filters: [
              {
                name: "hcm",
                configType: { case: "typedConfig", value: anyPack(HttpConnectionManagerSchema, manager) },
              },
            ],
          },
        ],
      }),
    ],
    [routeType]: [encoded("80", RouteConfigurationSchema, { name: "80", virtualHosts })],
  };
}

function lbEndpoint(address: string) {
  const socketAddress = { address, portSpecifier: { case: "portValue", value: 8080 } } as const;
  const endpoint = { address: { address: { case: "socketAddress", value: socketAddress } } } as const;
  return { hostIdentifier: { case: "endpoint", value: endpoint } } as const;
}

function encoded<D extends DescMessage>(name: string, schema: D, init: MessageInitShape<D>): Resource {
  return resource(name, toBinary(schema, create(schema, init)));
}
