import { createApiClient, parseKubeconfig } from "@istiod/kubernetes";
import { startApiServer } from "@istiod/kubernetes/testing";
import { givenReplicas, replicasInOtherPods } from "@istiod/replicas";
import { expect, it, onTestFinished } from "vitest";

it.each(["10.0.0.2:15012", "[2001:db8::2]:15012", "istiod-2.example:443"])("takes the address %s", (address) => {
  expect(givenReplicas([address])).toEqual([{ name: address, address }]);
});

it.each(["10.0.0.2", "http://10.0.0.2:15012", "10.0.0.2:15012/debug", "user@10.0.0.2:15012", "2001:db8::2:x", ""])(
  "names the address %j, which it does not take",
  (address) => {
    expect(() => givenReplicas(["10.0.0.1:15012", address])).toThrow(`${address}: expected a host and a port`);
  },
);

it("returns the replicas in other Pods of the revision that run, of both address families", async () => {
  const server = await startApiServer({ namespaces: ["istio-system"] });
  onTestFinished(() => server.stop());
  const add = async (name: string, rev: string, phase: string, podIP?: string): Promise<void> => {
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace: "istio-system", labels: { app: "istiod", "istio.io/rev": rev } },
      spec: { containers: [{ name: "discovery", image: "pilot" }] },
    };
    await server.objects.create(pod);
    await server.objects.updateStatus({ ...pod, status: { phase, ...(podIP && { podIP, podIPs: [{ ip: podIP }] }) } });
  };
  await add("istiod-1", "default", "Running", "10.0.0.1");
  await add("istiod-2", "default", "Running", "10.0.0.2");
  await add("istiod-3", "default", "Running", "2001:db8::3");
  await add("istiod-4", "default", "Pending");
  await add("istiod-5", "default", "Failed", "10.0.0.5");
  await add("canary-1", "canary", "Running", "10.0.0.6");
  const client = createApiClient(await parseKubeconfig(server.kubeconfig.yaml));
  const options = { namespace: "istio-system", revision: "default", podName: "istiod-1", port: 15012 };
  expect(await replicasInOtherPods(client, options)).toEqual([
    { name: "istiod-2", address: "10.0.0.2:15012" },
    { name: "istiod-3", address: "[2001:db8::3]:15012" },
  ]);
});
