import { workloadCommand } from "@istiod/commands";
import { expect, test } from "vitest";
import { run } from "./cluster-run.js";

const create = async (...args: string[]): Promise<string> =>
  (await run(workloadCommand, {}, ["group", "create", ...args])).out;

test("istiod workload group create prints a WorkloadGroup", async () => {
  const flags = [
    "--labels",
    "app=web,version=v1",
    "-l",
    "env=prod",
    "-a",
    "note=a=b",
    "--ports",
    "http=8080,grpc=3550",
  ];
  expect(await create("--name", "web", "-n", "shop", ...flags, "-s", "web", "--network", "vm", "-w", "2"))
    .toBe(`apiVersion: networking.istio.io/v1
kind: WorkloadGroup
metadata:
  name: web
  namespace: shop
spec:
  metadata:
    annotations:
      note: a=b
    labels:
      app: web
      env: prod
      version: v1
  template:
    network: vm
    ports:
      grpc: 3550
      http: 8080
    serviceAccount: web
    weight: 2
`);
  expect(await create("--name", "web", "-n", "shop")).toContain(
    "spec:\n  metadata: {}\n  template:\n    serviceAccount: default\n",
  );
});

test.each([
  [["--name", "web"], "required option '-n, --namespace <namespace>' not specified"],
  [["--name", "web", "-n", "shop", "--ports", "http=web"], "--ports http=web: expected a port between 1 and 65535"],
  [["--name", "web", "-n", "shop", "--labels", "app"], "expected name=value,name=value"],
  [["--name", "web", "-n", "shop", "-w", "-1"], "expected a whole number of at least 1"],
  [["--name", "web", "-n", "shop", "-w", "0"], "expected a whole number of at least 1"],
  [["--name", "web", "-n", "shop", "-p", "http=80,http=81"], "http is given twice"],
  [["--name", "web", "-n", "shop", "-l", "a=b", "-l", "a=c"], "a is given twice"],
  [["--name", "we b", "-n", "shop"], "metadata.name"],
  [["--name", "web", "-n", "Shop_"], "metadata.namespace"],
  [["--name", "web", "-n", "shop", "-l", "app=a b"], "labels"],
])("istiod workload group create %j is rejected", async (args, message) => {
  await expect(create(...args)).rejects.toThrow(message);
});
