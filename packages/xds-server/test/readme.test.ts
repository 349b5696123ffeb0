import { fromBinary } from "@bufbuild/protobuf";
import { ClusterSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { clusterType } from "@istiod/xds-server";
import { EnvoyClient } from "@istiod/xds-server/testing";
import { expect, test, vi } from "vitest";

test("the README's example serves a cluster to a proxy", async () => {
  const log = vi.spyOn(console, "log").mockImplementation(() => undefined);
  try {
    const { server } = await import("./readme-example.js");
    const envoy = new EnvoyClient({ host: server.host, port: server.port }, { variant: "delta" });
    await envoy.initialized();
    const cart = envoy.resources(clusterType).get("cart");
    const { loadAssignment } = fromBinary(ClusterSchema, cart?.bytes ?? new Uint8Array());
    expect(loadAssignment?.endpoints[0]?.lbEndpoints[0]?.hostIdentifier).toMatchObject({ case: "endpoint" });
    await envoy.settled();
    envoy.close();
    await server.close({ graceMs: 0 });
    expect(log.mock.calls.flat()).toEqual(expect.arrayContaining(["connect", "request", "push", "ack", "disconnect"]));
  } finally {
    log.mockRestore();
  }
});
