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

/** A cluster under construction. Its HTTP protocol options are kept apart until `finishCluster`. */
export interface ClusterDraft {
  readonly cluster: Cluster;
  http: HttpProtocolOptions | undefined;
  /** True if hosts are resolved per request, so that neither SNI nor load balancing can be fixed in the cluster. */
  readonly dynamicForwardProxy: boolean;
}

export const httpProtocolOptionsKey = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";

/** Returns a draft whose stat name is the cluster's name. */
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

/** Returns the HTTP protocol options of a draft, creating them if absent. */
export function httpOptions(draft: ClusterDraft): HttpProtocolOptions {
  draft.http ??= create(HttpProtocolOptionsSchema);
  return draft.http;
}

/**
 * Returns the cluster with its HTTP protocol options. Envoy requires an upstream protocol there; the default is
 * HTTP/1.1.
 */
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

/** Encodes the cluster as a resource. */
export function clusterResource(cluster: Cluster): Resource {
  return resource(cluster.name, toBinary(ClusterSchema, cluster));
}
