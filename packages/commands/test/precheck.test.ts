import { precheckCommand } from "@istiod/commands";
import { istioTypes } from "@istiod/commands/testing";
import { describe, expect, test } from "vitest";
import { clusterWith, sharedCluster } from "./cluster-run.js";
import { namespace } from "./injection-mesh.js";

const safe = "\u2714 No issues found when checking the cluster. Istio is safe to install or upgrade!\n";
const unsafe = "Issues found when checking the cluster. Istio may not be safe to install or upgrade.\n";

describe("istiod precheck", () => {
  const zipkin = `${namespace("istio-system")}
---
apiVersion: v1
kind: Service
metadata: {name: zipkin, namespace: istio-system}
spec: {clusterIP: 10.96.0.1, ports: [{name: http, port: 9411}]}
`;
  const cluster = sharedCluster(zipkin, { types: istioTypes });

  test("finds nothing in a cluster that allows an installation", async () => {
    expect(await cluster().run(precheckCommand)).toEqual({ out: "", warnings: safe, exit: 0 });
    expect((await cluster().run(precheckCommand, "-o", "json")).out).toBe("[]\n");
  });

  test("finds changes since a version that matter here", async () => {
    expect((await cluster().run(precheckCommand, "--from-version", "1.22")).exit).toBe(0);
    const { out, warnings, exit } = await cluster().run(precheckCommand, "-f", "1.20", "--skip-controlplane");
    expect(out).toMatch(/^Warning \[IST0169\] \(Service istio-system\/zipkin\) /);
    expect([warnings, exit]).toEqual([unsafe, 1]);
  });

  test.each([
    [["--from-version", "two"], "expected a version of Istio such as 1.21"],
    [["--output-threshold", "all"], "Allowed choices are Error, Warning, Info"],
  ])("rejects %j", async (args, message) => {
    await expect(cluster().run(precheckCommand, ...args)).rejects.toThrow(message);
  });
});

test("istiod precheck names permissions that are missing, and an old version of Kubernetes", async () => {
  const { server, run } = await clusterWith(namespace("istio-system"), { types: istioTypes });
  await server.faults.failRequests({ pathPrefix: "/apis/authorization.k8s.io", status: 403 });
  const { out, exit } = await run(precheckCommand);
  expect(out).toMatch(/^Error \[IST0141\] Missing required permission to create resource \w+ \(.+\)\n$/);
  expect(exit).toBe(1);
});
