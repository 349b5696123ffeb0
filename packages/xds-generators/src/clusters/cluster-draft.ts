import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { type Cluster, ClusterSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import {
  type HttpProtocolOptions,
  HttpProtocolOptions_ExplicitHttpConfigSchema,
  HttpProtocolOptionsSchema,
} from "@istiod/envoy-api/envoy/extensions/upstreams/http/v3/http_protocol_options";
import { type Resource, resource } from "@istiod/resources";
import { delimitedStatPrefix } from "../resource-names.js";

/** A cluster while it is made: its options for HTTP stay apart until it is finished. */
export interface ClusterDraft {
  readonly cluster: Cluster;
  http: HttpProtocolOptions | undefined;
  /** Whether hosts are resolved for each request, so that neither SNI nor balancing can be fixed here. */
  readonly dynamicForwardProxy: boolean;
}

export const httpProtocolOptionsKey = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";

/** A draft whose statistics have the cluster's own name. */
export function newClusterDraft(
  init: MessageInitShape<typeof ClusterSchema> & { readonly name: string },
  dynamicForwardProxy = false,
): ClusterDraft {
  return {
    cluster: create(ClusterSchema, { altStatName: delimitedStatPrefix(init.name), ...init }),
    http: undefined,
    dynamicForwardProxy,
  };
}

/** The options for HTTP, made where there are none. */
export function httpOptions(draft: ClusterDraft): HttpProtocolOptions {
  draft.http ??= create(HttpProtocolOptionsSchema);
  return draft.http;
}

/** The cluster, with its options for HTTP in place. Envoy demands a protocol there: where none was chosen it is HTTP/1.1. */
export function finishCluster({ cluster, http }: ClusterDraft): Cluster {
  if (http === undefined) return cluster;
  if (http.upstreamProtocolOptions.case === undefined) {
    const config = create(HttpProtocolOptions_ExplicitHttpConfigSchema, {
      protocolConfig: { case: "httpProtocolOptions", value: {} },
    });
    http.upstreamProtocolOptions = { case: "explicitHttpConfig", value: config };
  }
  cluster.typedExtensionProtocolOptions[httpProtocolOptionsKey] = anyPack(HttpProtocolOptionsSchema, http);
  return cluster;
}

/** The cluster as a resource. */
export function clusterResource(cluster: Cluster): Resource {
  return resource(cluster.name, toBinary(ClusterSchema, cluster));
}
