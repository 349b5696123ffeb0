import { readFile } from "node:fs/promises";
import { create } from "@bufbuild/protobuf";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { servicesWithPods } from "@istiod/config-schema/testing";
import { clusterType } from "@istiod/resources";
import { expect, test } from "vitest";
import { client, folder, serve } from "./serving.js";

const pods = 6;
/** One sidecar of each stands for those that share its configuration. */
const namespaces = 2;

test("istiod warms up before it is ready, and serves the expected resources", async () => {
  const configDir = await folder({ "mesh.yaml": servicesWithPods(pods) });
  const readyFile = `${configDir}.ready`;
  const istiod = await serve({ configDir, readyFile });
  expect(istiod.lines).toContainEqual(
    expect.objectContaining({ prepared: expect.objectContaining({ proxies: namespaces, all: true }) as object }),
  );
  expect(await readFile(readyFile, "utf8")).not.toBe("");
  const proxy = client(
    istiod,
    "delta",
    create(NodeSchema, {
      id: "sidecar~10.1.0.1~app-0.ns-0~ns-0.svc.cluster.local",
      metadata: { CLUSTER_ID: "Kubernetes" },
    }),
  );
  proxy.subscribe(clusterType);
  const response = await proxy.accept(clusterType);
  expect(response.resources.map(({ name }) => name)).toContain("outbound|80||app-3.ns-1.svc.cluster.local");
});
