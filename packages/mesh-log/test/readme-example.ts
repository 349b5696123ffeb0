import { deepEqual } from "node:assert/strict";
import { readText, setObjects } from "@istiod/config-schema";
import { Database } from "@istiod/incremental";
import { reporting } from "@istiod/mesh-log";
import { prometheusMeter } from "@istiod/prometheus";
import type { Proxy } from "@istiod/push-context";
import { pino } from "pino";
import { Registry } from "prom-client";

const database = new Database<Proxy>();
const lines: { readonly msg: string; readonly objects?: readonly string[] }[] = [];
const log = pino({}, { write: (line) => void lines.push(JSON.parse(line) as (typeof lines)[number]) });
const report = reporting({ meter: prometheusMeter(new Registry()), database, log });
report.started();

const text = "{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {ports: [{port: 80}]}}";
database.commit((tx) => {
  for (const { objects } of readText(text, "cart.yaml")) setObjects(tx, objects);
});
deepEqual(
  lines.map(({ msg, objects }) => [msg, objects]),
  [["changed", ["Service/shop/cart"]]],
);
report.stop();
