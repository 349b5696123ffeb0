import { deepEqual } from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { applyObject, createApiClient, parseKubeconfig, Reflector } from "@istiod/kubernetes";
import { startApiServer } from "@istiod/kubernetes/testing";

const server = await startApiServer({ namespaces: ["shop"] });
const client = createApiClient(await parseKubeconfig(server.kubeconfig.yaml));
const configMaps = { group: "", version: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true };
const prices = (apple: string) => ({ metadata: { namespace: "shop", name: "prices" }, data: { apple } });
await applyObject(client, configMaps, prices("1.20"), { fieldManager: "example" });

const seen: string[] = [];
const done = new EventEmitter();
const reflector = new Reflector<ReturnType<typeof prices>>({
  client,
  resource: configMaps,
  fields: { fields: { data: true } },
  handler: {
    events: (events) => {
      for (const event of events) {
        if (event.type === "set") seen.push(`${event.namespace}/${event.name}: ${event.object.data.apple}`);
      }
      if (seen.length === 2) done.emit("changed");
    },
    // The first list is complete: from here on, changes are reported as they happen.
    state: ({ phase }) => {
      if (phase === "synced") void applyObject(client, configMaps, prices("1.30"), { fieldManager: "example" });
    },
  },
});
reflector.start();
await once(done, "changed");
deepEqual(seen, ["shop/prices: 1.20", "shop/prices: 1.30"]);

reflector.stop();
client.close();
await server.stop();
