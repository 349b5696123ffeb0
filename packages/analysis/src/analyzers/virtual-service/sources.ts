import type { FieldPath } from "@istiod/config-schema";
import type { VirtualService } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { resolveGateway } from "@istiod/push-context";
import { hasLabels } from "@istiod/service-discovery";
import type { ClientClass } from "../../queries/clients.js";

/** The clients to whose requests a match of a route applies. */
export interface RouteSource {
  /** `mesh` or `namespace/name`; empty for all gateways of the VirtualService. */
  readonly gateways: readonly string[];
  /** Empty for all namespaces. */
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Returns the sources of a route of a VirtualService, one for each match. */
export function routeSources(
  { http, tls, tcp }: VirtualService,
  [, kind, index]: FieldPath,
  namespace: string,
): readonly RouteSource[] {
  const routes = kind === "http" ? http : kind === "tls" ? tls : tcp;
  const matches = routes[Number(index)]?.match ?? [];
  return matches.length === 0
    ? [{ gateways: [], namespace: "", labels: {} }]
    : matches.map(({ gateways, sourceNamespace, sourceLabels }) => ({
        gateways: gateways.map((name) => resolveGateway(name, namespace)),
        namespace: sourceNamespace,
        labels: sourceLabels,
      }));
}

/** Reports whether a source includes a client. */
export function includesClient(
  source: RouteSource,
  { gateway, namespace, labels }: Pick<ClientClass, "gateway" | "namespace" | "labels">,
): boolean {
  return (
    (source.gateways.length === 0 || source.gateways.includes(gateway ?? "mesh")) &&
    (source.namespace === "" || source.namespace === namespace) &&
    (gateway !== undefined || hasLabels(labels, source.labels))
  );
}
