import type { Mesh, Service } from "./mesh.js";
import { istioObject, type KubernetesObject, podObject } from "./objects.js";

/** Objects that a change writes and removes. */
export interface Change {
  readonly kind: ChangeKind;
  /** Description of the change. */
  readonly what: string;
  readonly put: readonly KubernetesObject[];
  readonly removed: readonly KubernetesObject[];
}

interface Edit {
  readonly what: string;
  readonly put?: readonly KubernetesObject[];
  readonly removed?: readonly KubernetesObject[];
}

/** Edits of the mesh by kind of change. `i` selects the object, modulo their number. */
const edits = {
  metadata(mesh, i) {
    const service = mesh.serviceAt(i);
    service.revision++;
    return { what: `VirtualService ${name(service)}: label and annotation`, put: [mesh.virtualService(service)] };
  },
  endpoint(mesh, i) {
    const service = mesh.serviceAt(i);
    const last = service.pods.at(-1)?.name ?? "";
    if (!service.out.delete(last)) service.out.add(last);
    return {
      what: `EndpointSlice ${name(service)}: ${service.out.has(last) ? "without" : "with"} ${last}`,
      put: [mesh.endpointSlice(service)],
    };
  },
  weight(mesh, i) {
    const service = mesh.serviceAt(i);
    service.weight = service.weight <= 10 ? 90 : service.weight - 10;
    return {
      what: `VirtualService ${name(service)}: ${service.weight}/${100 - service.weight}`,
      put: [mesh.virtualService(service)],
    };
  },
  rule(mesh, i) {
    const service = mesh.serviceAt(i);
    service.errors = 5 + ((service.errors - 4) % 20);
    return { what: `DestinationRule ${name(service)}: ${service.errors} errors`, put: [mesh.destinationRule(service)] };
  },
  policy(mesh, i) {
    const namespace = mesh.namespaces[i % mesh.namespaces.length] ?? "";
    mesh.policies.set(namespace, (mesh.policies.get(namespace) ?? 0) + 1);
    return { what: `AuthorizationPolicy ${namespace}/allow: another path`, put: [mesh.policy(namespace)] };
  },
  mtls(mesh, i) {
    const namespace = mesh.namespaces[i % mesh.namespaces.length] ?? "";
    const object = istioObject(
      "PeerAuthentication",
      "default",
      namespace,
      { age: 1, resourceVersion: mesh.nextVersion() },
      { mtls: { mode: "PERMISSIVE" } },
    );
    if (mesh.permissive.delete(namespace))
      return { what: `PeerAuthentication ${namespace}/default is gone`, removed: [object] };
    mesh.permissive.add(namespace);
    return { what: `PeerAuthentication ${namespace}/default: PERMISSIVE`, put: [object] };
  },
  "gateway-route"(mesh, i) {
    if (mesh.routes.length === 0) throw new RangeError("the mesh has no gateway");
    const route = i % mesh.routes.length;
    mesh.routes[route] = (mesh.routes[route] ?? 1) + 1;
    return { what: `VirtualService gw-${route}: another prefix`, put: [mesh.gatewayRoute(route)] };
  },
  "service-add"(mesh, i) {
    const service = mesh.newService(mesh.namespaces[i % mesh.namespaces.length] ?? "");
    mesh.added.push(service);
    return { what: `Service ${name(service)} with ${service.pods.length} pods`, put: mesh.objectsOf(service) };
  },
  "service-del"(mesh, i) {
    const service = mesh.added.pop() ?? mesh.services.splice(i % mesh.services.length, 1)[0];
    if (service === undefined) throw new RangeError("the mesh has no service left");
    return {
      what: `Service ${name(service)} with all that is its own is gone`,
      removed: mesh.objectsOf(service).reverse(),
    };
  },
  "service-alone"(mesh, i) {
    const service = mesh.serviceAt(i);
    service.exists = !service.exists;
    const object = mesh.service(service);
    return service.exists
      ? { what: `Service ${name(service)} is back`, put: [object] }
      : { what: `Service ${name(service)} is gone, its rules stay`, removed: [object] };
  },
  pod(mesh, i) {
    const service = mesh.serviceAt(i);
    const old = service.pods.findLast(({ sidecar }) => !sidecar) ?? service.pods.at(-1);
    if (old === undefined) return scaledUp(mesh, service);
    const pod = mesh.newPod(service, old.version);
    service.pods = [...service.pods.filter((each) => each !== old), pod];
    service.out.delete(old.name);
    return {
      what: `Pod ${old.name} replaced by ${pod.name}`,
      put: [podObject(pod, mesh.nextVersion()), mesh.endpointSlice(service)],
      removed: [podObject(old, 0)],
    };
  },
  scale(mesh, i) {
    const service = mesh.serviceAt(i);
    const old = service.pods.findLast(({ sidecar }) => !sidecar);
    if (old === undefined || service.pods.length < 3 || (service.pods.length < 7 && mesh.random.chance(0.5)))
      return scaledUp(mesh, service);
    service.pods = service.pods.filter((each) => each !== old);
    service.out.delete(old.name);
    return { what: `Pod ${old.name} is gone`, put: [mesh.endpointSlice(service)], removed: [podObject(old, 0)] };
  },
  ready(mesh, i) {
    const service = mesh.serviceAt(i);
    const at = mesh.random.below(service.pods.length);
    service.pods = service.pods.map((pod, j) => (j === at ? { ...pod, ready: !pod.ready } : pod));
    const pod = service.pods[at];
    if (pod === undefined) return scaledUp(mesh, service);
    return {
      what: `Pod ${pod.name} is ${pod.ready ? "" : "not "}ready`,
      put: [podObject(pod, mesh.nextVersion()), mesh.endpointSlice(service)],
    };
  },
} as const satisfies Record<string, (mesh: Mesh, i: number) => Edit>;

export type ChangeKind = keyof typeof edits;
export const changeKinds = Object.keys(edits) as readonly ChangeKind[];

export const isChangeKind = (text: string): text is ChangeKind => Object.hasOwn(edits, text);

/**
 * Changes the mesh, and returns the objects to write.
 *
 * @param i the object to change: the index of a service, namespace or route, modulo their number
 * @throws RangeError if the mesh has no such object
 */
export function change(mesh: Mesh, kind: ChangeKind, i: number): Change {
  mesh.nextVersion();
  const edit: (mesh: Mesh, i: number) => Edit = edits[kind];
  return { kind, put: [], removed: [], ...edit(mesh, i) };
}

function scaledUp(mesh: Mesh, service: Service): Edit {
  const pod = mesh.newPod(service, mesh.random.chance(0.5) ? "v1" : "v2");
  service.pods = [...service.pods, pod];
  return { what: `Pod ${pod.name} is new`, put: [podObject(pod, mesh.nextVersion()), mesh.endpointSlice(service)] };
}

const name = ({ name, namespace }: Service): string => `${namespace}/${name}`;
