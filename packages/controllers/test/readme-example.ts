import { deepEqual, equal } from "node:assert/strict";
import { type Controller, type Observed, runController } from "@istiod/controllers";
import { collection, query } from "@istiod/incremental";
import { createApiClient, parseKubeconfig } from "@istiod/kubernetes";
import { startApiServer } from "@istiod/kubernetes/testing";

const server = await startApiServer({ namespaces: ["shop"] });
const client = createApiClient(await parseKubeconfig(server.kubeconfig.yaml));

// Every namespace gets a label with the length of its name.
const type = { group: "", version: "v1", kind: "Namespace", plural: "namespaces", namespaced: false };
const namespaces = collection<Observed<string>>("Namespace");
const controller: Controller = {
  name: "length controller",
  watches: [
    {
      type,
      collection: namespaces,
      fields: { metadata: { labels: true } },
      select: ({ metadata }) => metadata?.labels?.["length"] ?? "",
    },
  ],
  targets: query("namespaces", (q) => q.keys(namespaces)),
  // The difference between desired and observed state: undefined if there is none.
  write: query("label", (q, name: string) => {
    const observed = q.read(namespaces, name);
    const length = String(name.length);
    if (observed === undefined || observed.value === length) return undefined;
    return {
      action: "apply",
      type,
      object: { metadata: { name, labels: { length } } },
      base: observed.resourceVersion,
    } as const;
  }),
};

const ignore = (): void => undefined;
const running = runController(controller, { client, log: { info: ignore, warn: ignore, error: ignore } });
const labels = () =>
  server.objects.list({ apiVersion: "v1", kind: "Namespace" }).map(({ metadata }) => metadata.labels?.["length"]);
while (labels().includes(undefined)) await new Promise((resolve) => setTimeout(resolve, 10));
deepEqual(labels(), ["7", "11", "4"]);
equal(server.requests.filter(({ method }) => method === "PATCH").length, 3);

running.stop();
client.close();
await server.stop();
