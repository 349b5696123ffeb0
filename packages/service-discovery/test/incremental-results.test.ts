import { expect, test } from "vitest";
import {
  allEndpoints,
  networkGateways,
  registeredLabels,
  service,
  serviceIdentities,
  serviceOrder,
  serviceTargets,
} from "@istiod/service-discovery";
import { Mesh, podYaml, serviceYaml, sliceYaml } from "./mesh.js";

/** A generator of numbers below a limit that gives the same sequence for the same seed (mulberry32). */
function numbers(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % limit;
  };
}

/** A random edit of a small mesh: an object with a random content, set or removed. */
function edit(below: (limit: number) => number): {
  readonly yaml: string;
  readonly cluster: string;
  readonly removes: boolean;
} {
  const pick = <T>(...of: readonly T[]): T => of[below(of.length)] as T;
  const name = pick("a", "b", "c");
  const ip = `10.1.0.${below(4) + 1}`;
  const host = pick("a.shop.svc.cluster.local", "x.example.org");
  const yaml = pick(
    () =>
      serviceYaml(name, {
        ip: pick("None", "10.0.0.1"),
        created: pick("2024-01-01T00:00:00Z", "2023-01-01T00:00:00Z"),
        metadata: pick("", "labels: {topology.istio.io/network: far}"),
      }),
    () => podYaml(name, ip, { labels: `app: ${pick("a", "b")}`, node: pick("", "n1"), ready: pick(true, false) }),
    () => sliceYaml(`${name}-s`, [{ pod: name, ip }, { ip: `192.0.2.${below(3)}` }], { service: pick("a", "b") }),
    () =>
      `{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {topology.kubernetes.io/region: ${pick("us", "eu")}}}}`,
    () =>
      `{apiVersion: v1, kind: Namespace, metadata: {name: istio-system, labels: {topology.istio.io/network: ${pick("far", "near")}}}}`,
    () =>
      `{apiVersion: networking.istio.io/v1, kind: WorkloadEntry, metadata: {name: ${name}, namespace: shop}, spec: {address: ${ip}, labels: {app: ${pick("a", "b")}}}}`,
    () =>
      `{apiVersion: networking.istio.io/v1, kind: ServiceEntry, metadata: {name: ${name}, namespace: shop}, spec: {hosts: [${host}], ports: [{number: 80, name: http, protocol: HTTP}], ` +
      `${pick("resolution: DNS", "resolution: STATIC, endpoints: [{address: 10.1.0.3}]", "resolution: STATIC, workloadSelector: {labels: {app: a}}")}}}`,
  )();
  return { yaml, cluster: pick("Kubernetes", "Kubernetes", "east"), removes: below(4) === 0 };
}

/** Everything that discovery can be asked about the mesh. */
function everything(mesh: Mesh): unknown {
  const ids = mesh.ask(serviceOrder);
  const keys = ["shop/a.shop.svc.cluster.local", "shop/b.shop.svc.cluster.local", "shop/x.example.org"];
  const proxies = [1, 2, 3, 4].map((n) => ({
    id: "a.shop",
    namespace: "shop",
    cluster: "Kubernetes",
    addresses: [`10.1.0.${n}`],
    labels: { app: "a" },
    podPorts: [],
    nodeName: "n1",
    isVm: false,
  }));
  return {
    services: ids.map((id) => mesh.ask(service, id)),
    endpoints: keys.map((key) => mesh.ask(allEndpoints, { service: key })),
    identities: keys.map((key) => mesh.ask(serviceIdentities, { service: key })),
    gateways: mesh.ask(networkGateways),
    proxies: proxies.map((proxy) => [mesh.ask(serviceTargets, proxy), mesh.ask(registeredLabels, proxy)]),
  };
}

test.each([1, 2, 3, 4, 5])("incremental results equal results computed from scratch (seed %i)", (seed) => {
  const below = numbers(seed);
  const mesh = new Mesh();
  const edits: ReturnType<typeof edit>[] = [];
  for (let step = 0; step < 60; step++) {
    const next = edit(below);
    edits.push(next);
    if (next.removes) mesh.remove(next.yaml, next.cluster);
    else mesh.apply(next.yaml, next.cluster);
    const answers = everything(mesh);
    if (step % 6 !== 5) continue;
    const fresh = new Mesh();
    for (const { yaml, cluster, removes } of edits) {
      if (removes) fresh.remove(yaml, cluster);
      else fresh.apply(yaml, cluster);
    }
    expect(answers).toEqual(everything(fresh));
  }
});
