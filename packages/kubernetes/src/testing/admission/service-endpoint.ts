import { type ApiObject, isJsonObject, type JsonObject } from "../storage/object.js";
import { objectKey, type Store } from "../storage/store.js";

export interface ServicePort {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

export interface ServiceEndpoint {
  readonly address: string;
  readonly port: number;
}

const objectsIn = (value: unknown): readonly JsonObject[] => (Array.isArray(value) ? value.filter(isJsonObject) : []);

/**
 * Returns a ready endpoint of a Service by its EndpointSlices, as API servers do that cannot reach cluster IPs.
 *
 * @throws Error if there is no Service, no such port, or no ready endpoint
 */
export function serviceEndpoint(store: Store, { namespace, name, port }: ServicePort): ServiceEndpoint {
  const service = store.get("/services", objectKey(namespace, name));
  if (service === undefined) throw new Error(`service "${name}" not found`);
  const { type, ports } = isJsonObject(service.spec) ? service.spec : {};
  if (type === "ExternalName") throw new Error(`unsupported service type "ExternalName"`);
  const found = objectsIn(ports).find((candidate) => candidate.port === port);
  if (found === undefined) throw new Error(`no service port ${port} found for service "${name}"`);
  for (const slice of store.values("discovery.k8s.io/endpointslices")) {
    const { namespace: ownNamespace, labels = {} } = slice.metadata;
    if (ownNamespace !== namespace || labels["kubernetes.io/service-name"] !== name) continue;
    const endpoint = readyEndpoint(slice, String(found.name ?? ""));
    if (endpoint !== undefined) return endpoint;
  }
  throw new Error(`no endpoints available for service "${name}"`);
}

function readyEndpoint({ ports, endpoints }: ApiObject, portName: string): ServiceEndpoint | undefined {
  const port = objectsIn(ports).find(({ name }) => name === portName);
  const ready = objectsIn(endpoints).find(({ conditions }) => !isJsonObject(conditions) || conditions.ready !== false);
  const [address] = Array.isArray(ready?.addresses) ? (ready.addresses as readonly unknown[]) : [];
  return typeof address === "string" && typeof port?.port === "number" ? { address, port: port.port } : undefined;
}
