import { deepEqual, equal } from "node:assert/strict";
import { configResources, decodeConfig, findConfigType } from "@istiod/config-xds";
import { decode, setObjects } from "@istiod/config-schema";
import { Database } from "@istiod/incremental";

const typeUrl = "networking.istio.io/v1/Sidecar";
const document = {
  apiVersion: "networking.istio.io/v1",
  kind: "Sidecar",
  metadata: { name: "default", namespace: "shop" },
  spec: { egress: [{ hosts: ["./*"] }] },
};

// One control plane serves its objects …
const database = new Database<undefined>();
database.commit((tx) => {
  for (const decoded of decode(document)) if (decoded.outcome === "accepted") setObjects(tx, [decoded]);
});
const [resource] = database.view(undefined).call(configResources, typeUrl).toArray();
equal(resource?.name, "shop/default");

// … and another one reads them.
const type = findConfigType(typeUrl);
const received = type && resource && decodeConfig(type, resource.bytes);
deepEqual(received?.document["spec"], document.spec);
