import { describe, expect, test } from "vitest";
import { endpoints, serviceIdentities, workloadByAddress } from "@istiod/service-discovery";
import { Mesh, podYaml, serviceYaml, sliceYaml } from "./mesh.js";

const CART = "shop/cart.shop.svc.cluster.local";

function entryYaml(spec = "address: 192.0.2.9, labels: {app: cart}", metadata = "", status = ""): string {
  return `---
apiVersion: networking.istio.io/v1
kind: WorkloadEntry
metadata: {name: vm, namespace: shop${metadata && `, ${metadata}`}}
spec: {${spec}}
${status && `status: {${status}}`}
`;
}

const at = (mesh: Mesh): readonly string[] =>
  mesh.ask(endpoints, { service: CART, port: "http" }).map(({ addresses: [address], port }) => `${address}:${port}`);

describe("WorkloadEntries behind a Kubernetes Service", () => {
  test("are selected by its selector and listen on its target port", () => {
    expect(at(new Mesh(serviceYaml("cart")).apply(entryYaml()))).toEqual(["192.0.2.9:8080"]);
  });

  test("listen on their own port of that name, which a named target port requires", () => {
    const named = serviceYaml("cart").replace("targetPort: 8080", "targetPort: web");
    expect(
      at(
        new Mesh(serviceYaml("cart")).apply(entryYaml("address: 192.0.2.9, labels: {app: cart}, ports: {http: 9000}")),
      ),
    ).toEqual(["192.0.2.9:9000"]);
    expect(at(new Mesh(named).apply(entryYaml("address: 192.0.2.9, labels: {app: cart}, ports: {web: 9001}")))).toEqual(
      ["192.0.2.9:9001"],
    );
    expect(at(new Mesh(named).apply(entryYaml()))).toEqual([]);
  });

  test("exclude hostnames and sockets, and are not selected by headless services", () => {
    expect(at(new Mesh(serviceYaml("cart")).apply(entryYaml("address: vm.example.org, labels: {app: cart}")))).toEqual(
      [],
    );
    expect(at(new Mesh(serviceYaml("cart", { ip: "None" })).apply(entryYaml()))).toEqual([]);
    expect(
      at(new Mesh(serviceYaml("cart")).apply(entryYaml()).set("PILOT_ENABLE_K8S_SELECT_WORKLOAD_ENTRIES", "false")),
    ).toEqual([]);
  });

  test("are used once their health checks succeed", () => {
    const checked = "annotations: {proxy.istio.io/health-checks-enabled: 'true'}";
    const mesh = new Mesh(serviceYaml("cart")).apply(entryYaml(undefined, checked));
    expect(at(mesh)).toEqual([]);
    mesh.apply(entryYaml(undefined, checked, "conditions: [{type: Healthy, status: 'True'}]"));
    expect(at(mesh)).toEqual(["192.0.2.9:8080"]);
    mesh.apply(entryYaml(undefined, checked, "conditions: [{type: Healthy, status: 'False'}]"));
    expect(at(mesh)).toEqual([]);
    mesh.apply(entryYaml(undefined, checked, "conditions: [{type: Healthy, status: Unknown}]"));
    expect(at(mesh)).toEqual([]);
    // The annotation is read as Go reads booleans; what is none means no checks.
    for (const value of ["false", "yes", ""]) {
      mesh.apply(
        entryYaml(undefined, checked.replace("'true'", `'${value}'`), "conditions: [{type: Healthy, status: 'False'}]"),
      );
      expect(at(mesh)).toEqual(["192.0.2.9:8080"]);
    }
  });

  test("have the workload name of their group, their label or themselves, which is not empty in a ServiceEntry", () => {
    const entry =
      "---\n{apiVersion: networking.istio.io/v1, kind: ServiceEntry, metadata: {name: vms, namespace: shop}, spec: {hosts: [vms.example.org], resolution: STATIC, ports: [{number: 80, name: http, protocol: HTTP}], workloadSelector: {labels: {app: cart}}}}\n";
    const names = (metadata: string): readonly string[] => {
      const mesh = new Mesh(serviceYaml("cart")).apply(entry).apply(entryYaml(undefined, metadata));
      return [CART, "shop/vms.example.org"].flatMap((service) =>
        mesh.ask(endpoints, { service, port: "http" }).map(({ workloadName }) => workloadName),
      );
    };
    expect(
      names("annotations: {istio.io/autoRegistrationGroup: group}, labels: {service.istio.io/workload-name: named}"),
    ).toEqual(["group", "group"]);
    expect(names("labels: {service.istio.io/workload-name: named}")).toEqual(["named", "named"]);
    expect(names("")).toEqual(["vm", "vm"]);
    expect(names("annotations: {istio.io/autoRegistrationGroup: ''}")).toEqual(["", "vm"]);
  });
});

describe("WorkloadEntries of several clusters", () => {
  test("may share a name, and are selected by the Service of their own cluster", () => {
    const mesh = new Mesh(serviceYaml("cart"))
      .apply(entryYaml())
      .apply(serviceYaml("cart"), "east")
      .apply(entryYaml("address: 192.0.2.8, labels: {app: cart}"), "east");
    expect([...at(mesh)].sort()).toEqual(["192.0.2.8:8080", "192.0.2.9:8080"]);
    mesh.remove(entryYaml(), "east");
    expect(at(mesh)).toEqual(["192.0.2.9:8080"]);
  });

  test("are used only if istiod's environment allows it", () => {
    for (const variable of ["PILOT_ENABLE_CROSS_CLUSTER_WORKLOAD_ENTRY", "PILOT_ENABLE_K8S_SELECT_WORKLOAD_ENTRIES"]) {
      const mesh = new Mesh().apply(entryYaml(), "east").set(variable, "false");
      expect(mesh.ask(workloadByAddress, "192.0.2.9")).toBeUndefined();
    }
  });
});

test("a WorkloadEntry is a workload with its group's name, and mutual TLS where it has an identity", () => {
  const mesh = new Mesh(
    entryYaml(
      "address: 192.0.2.9, serviceAccount: vm, labels: {app: a, v: one}",
      "labels: {app: b}, annotations: {istio.io/autoRegistrationGroup: vms}",
    ),
  );
  expect(mesh.ask(workloadByAddress, "192.0.2.9")).toMatchObject({
    kind: "WorkloadEntry",
    workloadName: "vms",
    identity: "spiffe://cluster.local/ns/shop/sa/vm",
    tlsMode: "istio",
    labels: { app: "b", v: "one" },
  });
  mesh.apply(entryYaml("address: 192.0.2.9, serviceAccount: vm, labels: {security.istio.io/tlsMode: disabled}"));
  expect(mesh.ask(workloadByAddress, "192.0.2.9")?.tlsMode).toBe("disabled");
});

describe("identities of a service", () => {
  test("are those of its endpoints and those declared, in all trust domains, independent of the number of pods", () => {
    const mesh = new Mesh(
      serviceYaml("cart", { metadata: "annotations: {alpha.istio.io/canonical-serviceaccounts: other.example.org}" }),
    )
      .apply(podYaml("cart-1", "10.1.0.1"))
      .apply(podYaml("cart-2", "10.1.0.2"))
      .apply(sliceYaml("a", [{ pod: "cart-1", ip: "10.1.0.1" }]))
      .meshConfig({ trustDomain: "here", trustDomainAliases: ["there"] });
    const before = mesh.ask(serviceIdentities, { service: CART });
    expect(before).toEqual(["other.example.org", "spiffe://here/ns/shop/sa/cart", "spiffe://there/ns/shop/sa/cart"]);
    mesh.apply(
      sliceYaml("a", [
        { pod: "cart-1", ip: "10.1.0.1" },
        { pod: "cart-2", ip: "10.1.0.2" },
      ]),
    );
    expect(mesh.ask(serviceIdentities, { service: CART })).toBe(before);
  });
});
