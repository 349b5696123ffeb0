import { host, port, type ProxylessMesh } from "./proxyless-mesh.js";

/** The service with the endpoints of servers: a version and an address number each. */
export function service(mesh: ProxylessMesh, versions: readonly (readonly [version: string, at: number])[]): string {
  const endpoint = ([version, at]: readonly [string, number]): string =>
    `  - {address: ${mesh.address(at)}, ports: {grpc: ${mesh.portAt(at)}}, labels: {version: ${version}}, locality: ${version}, serviceAccount: ${version}}`;
  return `apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: echo, namespace: test}
spec:
  hosts: [${host}]
  location: MESH_INTERNAL
  resolution: STATIC
  ports: [{number: ${port}, name: grpc, protocol: GRPC}]
  endpoints:
${versions.map(endpoint).join("\n")}
`;
}

export const bothVersions = [
  ["v1", 11],
  ["v2", 12],
] as const;

/** Subsets by version, with a traffic policy in YAML. */
export function destinationRule(policy?: string): string {
  return `apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: echo, namespace: test}
spec:
  host: ${host}
${policy === undefined ? "" : `  trafficPolicy: ${policy}\n`}  subsets: [{name: v1, labels: {version: v1}}, {name: v2, labels: {version: v2}}]
`;
}

/** The routes of the service, in YAML. */
export function virtualService(http: string): string {
  return `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: echo, namespace: test}
spec:
  hosts: [${host}]
  http: ${http}
`;
}

export function peerAuthentication(mode: string): string {
  return `apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: default, namespace: test}
spec: {mtls: {mode: ${mode}}}
`;
}

export function authorizationPolicy(action: string, rule: string): string {
  return `apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: echo, namespace: test}
spec: {action: ${action}, rules: [{${rule}}]}
`;
}
