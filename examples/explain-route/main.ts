import { readFileSync } from "node:fs";
import { defaultMeshConfig, meshConfig, meshConfigKey, readText, setObjects } from "@istiod/config-schema";
import { explain, resourceType } from "@istiod/explain";
import { Database } from "@istiod/incremental";
import { proxyFromNode, type Proxy } from "@istiod/push-context";

const file = new URL("mesh.yaml", import.meta.url);
const objects = readText(readFileSync(file, "utf8"), "mesh.yaml").flatMap((reading) => reading.objects);
const database = new Database<Proxy>();
database.commit((tx) => {
  tx.set(meshConfig, meshConfigKey, defaultMeshConfig());
  setObjects(tx, objects);
});

// The sidecar of a pod "web" in the namespace "shop".
const web = proxyFromNode({ id: "sidecar~10.1.0.1~web.shop~shop.svc.cluster.local" });
const routes = resourceType("rds");
const explanations = explain(database, database.view(web), {
  ...(routes && { types: [routes] }),
  name: "80", // the route configuration of port 80
  tries: 1000, // recompute it without each object and field, to see which ones matter
});

for (const { type, name, objects: read, ignored } of explanations) {
  console.log(`${type} ${name}`);
  for (const object of read)
    if (object.effect) console.log(`  ${object.kind} ${object.name}: ${object.effect.fields.join(", ")}`);
  for (const { kind, name: object, reason } of ignored) console.log(`  ${kind} ${object} ${reason}`);
}
