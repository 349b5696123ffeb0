import type { Random } from "@istiod/bench";
import type { MeshObject, RandomMeshOptions, RandomService } from "./mesh-object.js";

const ports = [
  { number: 7070, name: "grpc", protocol: "GRPC" },
  { number: 80, name: "http", protocol: "HTTP" },
  { number: 8080, name: "http2", protocol: "HTTP2" },
  { number: 9000, name: "tcp", protocol: "TCP" },
  { number: 443, name: "tls", protocol: "TLS" },
] as const;

const localities = ["", "r1", "r1/z1", "r1/z1/s1", "r1/z2", "r2/z1", "r2/z1/s9", "r3"];

/** Returns a service with random ports and endpoints. */
export function randomServiceEntry(
  random: Random,
  { namespace, addresses, endpointPorts = [7000, 7001, 7002] }: RandomMeshOptions,
  name: string,
  host: string,
): { readonly object: MeshObject; readonly service: RandomService } {
  const [first, ...others] = random.shuffled(ports.slice(0, random.chance(0.3) ? 5 : 2));
  const chosen = [...(first ? [first] : []), ...others.filter(() => random.chance(0.4))];
  const resolution = random.pick(["STATIC", "STATIC", "STATIC", "STATIC", "DNS", "DNS_ROUND_ROBIN", "NONE"]);
  const isDns = resolution.startsWith("DNS");
  const endpoints = Array.from({ length: random.below(6) }, () => ({
    address: isDns ? random.pick(["localhost", ...addresses]) : random.pick(addresses),
    ...(random.chance(0.7) && {
      ports: Object.fromEntries(chosen.map((port) => [port.name, random.pick(endpointPorts)])),
    }),
    labels: { version: random.pick(["v1", "v2", "v3"]), app: name },
    ...(random.chance(0.7) && { locality: random.pick(localities) }),
    ...(random.chance(0.4) && { weight: random.pick([0, 1, 2, 100]) }),
    ...(random.chance(0.1) && { network: "other" }),
    ...(random.chance(0.3) && { serviceAccount: random.pick(["a", "b"]) }),
  }));
  const spec = {
    hosts: [host],
    ports: chosen.map((port) => ({ ...port, ...(random.chance(0.2) && { targetPort: 7001 }) })),
    location: random.pick(["MESH_INTERNAL", "MESH_EXTERNAL"]),
    resolution,
    exportTo: [random.pick([".", "*"])],
    ...(random.chance(0.4) &&
      resolution !== "NONE" && { addresses: [`240.1.${random.below(250)}.${random.below(250)}`] }),
    ...(resolution !== "NONE" &&
      (resolution !== "DNS_ROUND_ROBIN" || endpoints.length > 0) && {
        endpoints: resolution === "DNS_ROUND_ROBIN" ? endpoints.slice(0, 1) : endpoints,
      }),
  };
  return {
    object: { apiVersion: "networking.istio.io/v1", kind: "ServiceEntry", metadata: { name, namespace }, spec },
    service: { host, ports: chosen.map(({ number }) => number) },
  };
}
