import { create } from "@bufbuild/protobuf";
import type { Duration } from "@bufbuild/protobuf/wkt";
import { environment, headerFormatFault } from "@istiod/config-schema";
import { HeaderValueOption_HeaderAppendAction as AppendAction } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { type HttpService, HttpServiceSchema } from "@istiod/envoy-api/envoy/config/core/v3/http_service";
import type { QueryContext } from "@istiod/incremental";
import type { MeshConfig_ExtensionProvider_HttpHeader as ProviderHeader } from "@istiod/istio-api/mesh/v1alpha1/config";
import { providerAddress } from "@istiod/push-context";
import { servesCluster } from "../clusters/index.js";
import { outboundClusterName } from "../resource-names.js";

export interface Collector {
  readonly hostname: string;
  readonly cluster: string;
}

export function collector(
  q: QueryContext,
  { service, port }: { readonly service: string; readonly port: number },
): Collector | undefined {
  const at = q.call(providerAddress, { service, port });
  return at && { hostname: at.hostname, cluster: outboundClusterName(at.hostname, at.port) };
}

/**
 * Returns the collector of a tracer whose cluster must exist, or else Envoy rejects every listener with the tracer;
 * undefined if the client is not served this cluster.
 */
export function servedCollector(q: QueryContext, of: Parameters<typeof collector>[1]): Collector | undefined {
  const at = q.call(providerAddress, { service: of.service, port: of.port });
  return at && q.call(servesCluster, at) ? collector(q, of) : undefined;
}

export function httpService(
  q: QueryContext,
  uri: string,
  cluster: string,
  timeout: Duration | undefined,
  headers: readonly ProviderHeader[],
): HttpService {
  return create(HttpServiceSchema, {
    httpUri: { uri, httpUpstreamType: { case: "cluster", value: cluster }, ...(timeout && { timeout }) },
    requestHeadersToAdd: headers.map((header) => ({
      appendAction: AppendAction.OVERWRITE_IF_EXISTS_OR_ADD,
      header: { key: header.name, value: headerValue(q, header) },
    })),
  });
}

/** Returns a literal value, or that of one of istiod's environment variables. */
export function headerValue(q: QueryContext, { headerValue: value }: ProviderHeader): string {
  if (value.case === "value") return value.value;
  return value.case === "envName" ? formatOf(q.read(environment, value.value) ?? "") : "";
}

/**
 * Returns a text as a format that Envoy accepts. A secret may have percent signs that are no variables, and a line
 * break at its end.
 */
function formatOf(text: string): string {
  const line = text.replace(/[\0\r\n]+/g, "");
  return headerFormatFault(line) === undefined ? line : line.replaceAll("%", "%%");
}

export function grpcService({ hostname, cluster }: Collector) {
  return { targetSpecifier: { case: "envoyGrpc" as const, value: { clusterName: cluster, authority: hostname } } };
}
