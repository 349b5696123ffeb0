import { expect, it } from "vitest";
import { clusterType, endpointType, listenerType, routeType } from "@istiod/resources";
import { lookups } from "../../src/index.js";
import { grpcClient, meshOf } from "./grpc-client.js";

const host = (n: number): string => `s${n}.shop.svc.cluster.local`;
const service = (n: number): string => `
apiVersion: v1
kind: Service
metadata: {name: s${n}, namespace: shop}
spec: {clusterIP: 10.96.${n >> 8}.${n & 255}, ports: [{name: grpc, port: 80}]}
`;
const routes = (n: number, weight: number): string => `
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: s${n}, namespace: shop}
spec:
  hosts: [s${n}]
  http: [{route: [{destination: {host: s${n}}, weight: ${weight}}, {destination: {host: s${n + 1}}, weight: ${100 - weight}}]}]
`;

it("a weight among a thousand services costs a few queries, and what its client has named", () => {
  const numbers = Array.from({ length: 1000 }, (_, n) => n);
  const mesh = meshOf(...numbers.map(service), routes(0, 10), routes(500, 10));
  const { view } = grpcClient(mesh, { userAgent: "go" });
  const named = [0, 1, 2].flatMap((n) => [
    [listenerType, `${host(n)}:80`],
    ...[routeType, clusterType, endpointType].map((type) => [type, `outbound|80||${host(n)}`]),
  ]) as readonly (readonly [string, string])[];
  const read = () =>
    named.map(([type, name]) => view.call(lookups[type] as NonNullable<(typeof lookups)[string]>, name));
  const before = read();
  const { recomputations } = mesh.db.stats();
  mesh.apply(routes(0, 90));
  const after = read();
  const changed = named.filter((_, at) => after[at] !== before[at]);
  expect(changed).toEqual([[routeType, `outbound|80||${host(0)}`]]);
  expect(mesh.db.stats().recomputations - recomputations).toBeLessThan(20);

  const settled = mesh.db.stats().recomputations;
  mesh.apply(routes(500, 90));
  expect(read()).toEqual(after);
  expect(mesh.db.stats().recomputations - settled).toBeLessThan(15);
});
