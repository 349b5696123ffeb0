import { type ApiClient, ApiError, resourcePath, type ResourceType } from "@istiod/kubernetes";
import type { MeshObject } from "@istiod/gateway-api/testing";

/** An object as the API server returns it. */
export interface StoredObject extends MeshObject {
  readonly metadata: MeshObject["metadata"] & { readonly creationTimestamp: string };
}

const type = (apiVersion: string, kind: string, plural: string, namespaced = true): ResourceType => {
  const [version = "", group = ""] = apiVersion.split("/").reverse();
  return { group, version, kind, plural, namespaced };
};
const gatewayApi = "gateway.networking.k8s.io/v1";
const networking = "networking.istio.io/v1";
const security = "security.istio.io/v1";

/** The kinds of the meshes that are compared, those first that others refer to. */
const types: readonly ResourceType[] = [
  type("v1", "Namespace", "namespaces", false),
  type("v1", "Secret", "secrets"),
  type("v1", "ConfigMap", "configmaps"),
  type("v1", "Service", "services"),
  type("v1", "Pod", "pods"),
  type("discovery.k8s.io/v1", "EndpointSlice", "endpointslices"),
  type(networking, "ServiceEntry", "serviceentries"),
  type(networking, "WorkloadEntry", "workloadentries"),
  type(networking, "DestinationRule", "destinationrules"),
  type(networking, "Gateway", "gateways"),
  type(networking, "VirtualService", "virtualservices"),
  type(networking, "Sidecar", "sidecars"),
  type("networking.istio.io/v1alpha3", "EnvoyFilter", "envoyfilters"),
  type(security, "PeerAuthentication", "peerauthentications"),
  type(security, "RequestAuthentication", "requestauthentications"),
  type(security, "AuthorizationPolicy", "authorizationpolicies"),
  type(gatewayApi, "GatewayClass", "gatewayclasses", false),
  type("gateway.networking.k8s.io/v1beta1", "ReferenceGrant", "referencegrants"),
  type(gatewayApi, "BackendTLSPolicy", "backendtlspolicies"),
  type("inference.networking.k8s.io/v1", "InferencePool", "inferencepools"),
  type(gatewayApi, "Gateway", "gateways"),
  type(gatewayApi, "ListenerSet", "listenersets"),
  type(gatewayApi, "HTTPRoute", "httproutes"),
  type(gatewayApi, "GRPCRoute", "grpcroutes"),
  type(gatewayApi, "TCPRoute", "tcproutes"),
  type(gatewayApi, "TLSRoute", "tlsroutes"),
];

function typeOf({ apiVersion, kind }: MeshObject): ResourceType {
  const found = types.find((each) => each.kind === kind && apiVersionOf(each) === apiVersion);
  if (found === undefined) throw new Error(`unknown kind ${kind}`);
  return found;
}

const apiVersionOf = ({ group, version }: ResourceType): string => (group === "" ? version : `${group}/${version}`);

const hasStatus = ({ group }: ResourceType): boolean => group.startsWith("gateway.") || group.startsWith("inference.");

/** Returns the objects of an API server that concern the meshes: all, or those with statuses of the Gateway API. */
export async function listObjects(
  client: ApiClient,
  which: "all" | "with statuses" = "all",
): Promise<readonly StoredObject[]> {
  const lists = await Promise.all(
    types
      .filter((each) => which === "all" || hasStatus(each))
      .map(async (each): Promise<readonly StoredObject[]> => {
        const { items } = await client.json<{ items: readonly StoredObject[] }>({ path: resourcePath(each) });
        return items.map((item) => ({ ...item, apiVersion: apiVersionOf(each), kind: each.kind }));
      }),
  );
  return lists.flat();
}

/**
 * Creates an object with its status. Returns the reason for which the API server rejects it; undefined if it does not.
 */
export async function createObject(client: ApiClient, object: MeshObject): Promise<string | undefined> {
  const of = typeOf(object);
  const { name, namespace } = object.metadata;
  const place = namespace === undefined ? {} : { namespace };
  try {
    await client.json({ method: "POST", path: resourcePath(of, place), body: JSON.stringify(object) });
    if (object.status !== undefined)
      await client.json({
        method: "PATCH",
        path: resourcePath(of, { ...place, name, subresource: "status" }),
        contentType: "application/merge-patch+json",
        body: JSON.stringify({ status: object.status }),
      });
    return undefined;
  } catch (error) {
    if (error instanceof ApiError && error.code === "already-exists") return undefined;
    if (error instanceof ApiError) return `${object.kind} ${namespace}/${name}: ${error.message}`;
    throw error;
  }
}

/** Deletes an object, or nothing if there is none. */
export async function deleteObject(client: ApiClient, object: MeshObject): Promise<void> {
  const { name, namespace } = object.metadata;
  const path = resourcePath(typeOf(object), { name, ...(namespace !== undefined && { namespace }) });
  await client.json({ method: "DELETE", path }).catch((error: unknown) => {
    if (!(error instanceof ApiError && error.code === "not-found")) throw error;
  });
}
