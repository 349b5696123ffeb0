import { expect, it } from "vitest";
import type { Answer, Loose } from "./http.js";
import { contract } from "./servers.js";

contract("services", (server) => {
  const path = `/api/v1/namespaces/${server.namespace}/services`;
  const create = (name: string, spec: object = {}): Promise<Answer> =>
    server.http.post(path, { metadata: { name }, spec: { ports: [{ port: 80 }], ...spec } });
  const isIPv4 = expect.stringMatching(/^10\.96\.\d+\.\d+$/);

  it("assigns a cluster IP of its own to each service", async () => {
    const { body } = await create("first");
    expect(body.spec).toMatchObject({
      type: "ClusterIP",
      clusterIP: isIPv4,
      clusterIPs: [body.spec.clusterIP],
      ipFamilies: ["IPv4"],
      ipFamilyPolicy: "SingleStack",
    });
    const { body: second } = await create("second");
    expect(second.spec.clusterIP).toEqual(isIPv4);
    expect(second.spec.clusterIP).not.toBe(body.spec.clusterIP);
  });

  it("rejects a cluster IP that another service has, until that one is deleted", async () => {
    expect((await create("holder", { clusterIP: "10.96.7.7" })).status).toBe(201);
    const taken = await create("taken", { clusterIP: "10.96.7.7" });
    expect(taken.status).toBe(422);
    expect(taken.body).toMatchObject({
      reason: "Invalid",
      details: { kind: "Service", name: "taken", causes: [{ reason: "FieldValueInvalid", field: "spec.clusterIPs" }] },
    });
    expect(taken.body.message).toContain("failed to allocate IP 10.96.7.7: provided IP is already allocated");
    expect((await server.http.get(`${path}/taken`)).status).toBe(404);
    await server.http.delete(`${path}/holder`);
    expect((await create("taken", { clusterIP: "10.96.7.7" })).status).toBe(201);
  });

  it.each(["192.0.2.1", "2001:db8::1"])("rejects cluster IPs out of range: %s", async (clusterIP) => {
    const { status, body } = await create("out-of-range", { clusterIP });
    expect(status).toBe(422);
    expect(body.details.causes).toMatchObject([{ reason: "FieldValueInvalid", field: "spec.clusterIPs" }]);
    expect(body.message).toContain("the provided IP");
    expect(body.message).toContain("is not in the valid range");
  });

  it("rejects cluster IPs that are no addresses", async () => {
    const { status, body } = await create("no-address", { clusterIP: "10.96.1" });
    expect(status).toBe(422);
    expect(body.details.causes).toMatchObject([{ reason: "FieldValueInvalid", field: "spec.clusterIPs[0]" }]);
  });

  it("assigns nothing in a dry run", async () => {
    const dry = await server.http.post(`${path}?dryRun=All`, {
      metadata: { name: "dry" },
      spec: { clusterIP: "10.96.8.8", ports: [{ port: 80 }] },
    });
    expect(dry.status).toBe(201);
    expect((await create("not-dry", { clusterIP: "10.96.8.8" })).status).toBe(201);
  });

  it("assigns addresses of both families if they are required, and none to headless services", async () => {
    const { body } = await create("dual", { ipFamilyPolicy: "RequireDualStack" });
    expect(body.spec.ipFamilies).toEqual(["IPv4", "IPv6"]);
    expect(body.spec.clusterIPs).toEqual([isIPv4, expect.stringMatching(/^fd00:10:96::/)]);
    const { body: six } = await create("six", { ipFamilies: ["IPv6"] });
    expect(six.spec).toMatchObject({ clusterIP: expect.stringMatching(/^fd00:10:96::/), ipFamilies: ["IPv6"] });
    const { body: headless } = await create("headless", { clusterIP: "None" });
    expect(headless.spec).toMatchObject({ clusterIP: "None", clusterIPs: ["None"] });
    const external = await create("external", { type: "ExternalName", externalName: "example.com" });
    expect(external.status).toBe(201);
    for (const field of ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"])
      expect(external.body.spec[field]).toBeUndefined();
  });

  it("keeps the cluster IP in updates that leave it out, and rejects another", async () => {
    const { body: created } = await create("kept");
    const { clusterIP, clusterIPs } = created.spec;
    const ports = [{ port: 81 }];
    const put = (spec: object) => server.http.put(`${path}/kept`, { metadata: { name: "kept" }, spec });
    const { status, body } = await put({ ports });
    expect(status).toBe(200);
    expect(body.spec).toMatchObject({ clusterIP, clusterIPs, ports });
    const changed = await put({ ports, clusterIP: "10.96.9.9" });
    expect(changed.status).toBe(422);
    expect(changed.body.details.causes[0]).toMatchObject({ field: "spec.clusterIPs[0]" });
    expect(changed.body.message).toContain("may not change once set");
  });

  it("assigns node ports, and rejects taken ones", async () => {
    const { body } = await create("node-ports", { type: "NodePort", ports: [{ port: 80 }] });
    const [{ nodePort }] = body.spec.ports;
    expect(nodePort).toBeGreaterThanOrEqual(30_000);
    expect(nodePort).toBeLessThanOrEqual(32_767);
    const taken = await create("taken-port", { type: "NodePort", ports: [{ port: 80, nodePort }] });
    expect(taken.status).toBe(422);
    expect(taken.body.details.causes).toMatchObject([{ field: "spec.ports[0].nodePort" }]);
    expect(taken.body.message).toContain("provided port is already allocated");
    const balanced = await create("balanced", { type: "LoadBalancer" });
    expect(balanced.body.spec).toMatchObject({ allocateLoadBalancerNodePorts: true, externalTrafficPolicy: "Cluster" });
    expect(balanced.body.spec.ports[0].nodePort).not.toBe(nodePort);
    await server.http.delete(`${path}/node-ports`);
    expect((await create("taken-port", { type: "NodePort", ports: [{ port: 80, nodePort }] })).status).toBe(201);
  });

  it("requires ports, and names for several", async () => {
    const causes = ({ body }: Answer): Loose => body.details.causes;
    const without = await server.http.post(path, { metadata: { name: "without-ports" }, spec: {} });
    expect(without.status).toBe(422);
    expect(causes(without)).toMatchObject([{ reason: "FieldValueRequired", field: "spec.ports" }]);
    const unnamed = await create("unnamed", { ports: [{ port: 80 }, { name: "b", port: 81 }] });
    expect(unnamed.status).toBe(422);
    expect(causes(unnamed)).toMatchObject([{ reason: "FieldValueRequired", field: "spec.ports[0].name" }]);
  });
});
