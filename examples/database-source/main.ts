import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { clusterType, serve } from "@istiod/xds-server";
import { XdsClient } from "@istiod/xds-server/testing";
import { Table } from "./table.js";
import { tableSource } from "./table-source.js";

const table = new Table(join(mkdtempSync(join(tmpdir(), "table-")), "clusters.json"));
table.insert({ team: "shop", cluster: "cart" });
table.insert({ team: "billing", cluster: "invoices" });
const server = await serve(tableSource(table), { host: "127.0.0.1", port: 0 });

/** Connects an Envoy of a team, and prints what it receives. */
async function connect(team: string): Promise<XdsClient> {
  const client = new XdsClient(server, {
    variant: "delta",
    node: create(NodeSchema, { id: `${team}-1`, cluster: team }),
    onResponse: ({ typeUrl, names }) =>
      typeUrl === clusterType && console.log(`${team}-1 received ${names.join(", ")}`),
  });
  client.subscribe(clusterType);
  await client.accept(clusterType);
  return client;
}

const shop = await connect("shop");
const billing = await connect("billing");

// Only the Envoys of the row's team are pushed to, and only the difference.
table.insert({ team: "shop", cluster: "reviews" });
await shop.accept(clusterType);
console.log(`billing-1 received ${(await billing.settled()).filter((r) => r.typeUrl === clusterType).length} more`);

for (const client of [shop, billing]) client.close();
await server.close();
