import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { destinationRule, istioYaml, peerAuthentication, podYaml, serviceEntry, serviceYaml } from "../mesh-yaml.js";
import { clusterType, type ProxyOptions, TestMesh } from "../mesh.js";

const namespaces = ["shop", "payments", "istio-system"] as const;
const services = ["cart", "ledger", "web"] as const;
const proxies: readonly ProxyOptions[] = [
  { ip: "10.1.0.1", name: "web-10-1-0-1", labels: { app: "web" } },
  { namespace: "payments", ip: "10.1.0.9", name: "other" },
  { type: "router", namespace: "istio-system", name: "ingress", ip: "10.1.0.8", labels: { istio: "ingress" } },
];

const namespace = fc.constantFrom(...namespaces);
const service = fc.constantFrom(...services);
const hostOf = ([name, of]: readonly [string, string]): string => `${name}.${of}.svc.cluster.local`;
const host = fc.oneof(fc.tuple(service, namespace).map(hostOf), fc.constantFrom("*.shop.svc.cluster.local", "*"));

/** One object of each kind that clusters are built from. */
const object = fc.oneof(
  fc
    .tuple(
      service,
      namespace,
      fc.constantFrom(["http:80:8080"], ["grpc:80", "tcp:90"]),
      fc.constantFrom("10.96.0.1", "None"),
    )
    .map(([name, of, ports, ip]) => serviceYaml(name, { namespace: of, ports, ip })),
  fc
    .tuple(service, namespace, fc.constantFrom("10.1.0.1", "10.1.0.2"), fc.boolean())
    .map(([name, of, ip, injected]) => podYaml(name, ip, { namespace: of, injected })),
  fc
    .tuple(
      host,
      namespace,
      fc.constantFrom([], ["."], ["payments"]),
      fc.constantFrom("ISTIO_MUTUAL", "SIMPLE", "DISABLE"),
      fc.boolean(),
      fc.boolean(),
    )
    .map(([of, owner, exportTo, mode, subset, selects]) =>
      destinationRule(
        of,
        {
          exportTo: selects ? ["."] : exportTo,
          trafficPolicy: { tls: { mode }, connectionPool: { tcp: { maxConnections: 7 } } },
          ...(subset && { subsets: [{ name: "v1", labels: { version: "v1" } }] }),
          ...(selects && { workloadSelector: { matchLabels: { app: "web" } } }),
        },
        owner,
      ),
    ),
  fc
    .tuple(namespace, fc.constantFrom("STRICT", "PERMISSIVE", "DISABLE"))
    .map(([of, mode]) => peerAuthentication(of, mode)),
  fc
    .tuple(namespace, fc.constantFrom("./*", "*/*", "shop/*"))
    .map(([of, hosts]) => istioYaml("Sidecar", "default", { egress: [{ hosts: [hosts] }] }, of)),
  fc
    .tuple(
      namespace,
      fc.constantFrom("DNS", "STATIC"),
      fc.constantFrom("api.example.com", "cart.shop.svc.cluster.local"),
    )
    .map(([of, resolution, name]) =>
      serviceEntry(
        "entry",
        {
          hosts: [name],
          resolution,
          ports: [{ number: 443, name: "tls", protocol: "TLS" }],
          endpoints: [{ address: "192.0.2.1" }],
        },
        of,
      ),
    ),
);

const edit = fc.oneof(
  { weight: 3, arbitrary: object.map((yaml) => ({ apply: yaml })) },
  { weight: 1, arbitrary: object.map((yaml) => ({ remove: yaml })) },
);

function edited(mesh: TestMesh, change: { readonly apply: string } | { readonly remove: string }): void {
  if ("apply" in change) mesh.apply(change.apply);
  else mesh.remove(change.remove);
}

function state(mesh: TestMesh): readonly (readonly string[])[] {
  return proxies.map((options) =>
    [...mesh.proxy(options).set(clusterType)].map(({ name, version }) => `${name} ${version}`),
  );
}

describe("clusters after random edits", () => {
  it("equal those of a mesh built from scratch", { timeout: 120_000 }, () => {
    fc.assert(
      fc.property(
        fc.array(object, { minLength: 3, maxLength: 12 }),
        fc.array(edit, { minLength: 1, maxLength: 8 }),
        (start, edits) => {
          const mesh = new TestMesh(start.join(""));
          state(mesh);
          edits.forEach((change, i) => {
            edited(mesh, change);
            const fresh = new TestMesh(start.join(""));
            for (const earlier of edits.slice(0, i + 1)) edited(fresh, earlier);
            expect(state(mesh)).toEqual(state(fresh));
          });
        },
      ),
      { numRuns: 25 },
    );
  });
});
