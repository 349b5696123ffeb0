import { equal } from "node:assert/strict";
import { readText, setObjects, virtualServices } from "@istiod/config-schema";
import { Database, query } from "@istiod/incremental";
import { ChangeAttribution, ChangeLog, Deliveries, formatStatus, parseName, statusOf } from "@istiod/push-report";
import { resource, ResourceSet } from "@istiod/resources";
import { createXdsServer, type SourceChange } from "@istiod/xds-server";
import { XdsClient } from "@istiod/xds-server/testing";

const yaml = (timeout: string) => `
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: cart, namespace: shop}
spec: {hosts: [cart.example.com], http: [{timeout: ${timeout}, route: [{destination: {host: cart}}]}]}
`;
// A control plane of one type: the seconds of each VirtualService's timeout.
const bytes = (seconds: bigint) => Uint8Array.of(0x10, Number(seconds));
const timeouts = query("timeouts", (q) =>
  ResourceSet.of(q.all(virtualServices).map((v) => resource(v.name, bytes(v.spec.http[0]?.timeout?.seconds ?? 0n)))),
);
const database = new Database<string>();
const view = database.view("the one client");
let push: (change: SourceChange) => void = () => undefined;
const source = {
  ready: () => true,
  open: () => view,
  resources: () => view.call(timeouts),
  watch: (listener: typeof push) => ((push = listener), () => undefined),
};
const clock = { now: Date.now, after: () => () => undefined };
const attribution = new ChangeAttribution(clock);
const changes = new ChangeLog({ clock, pendingRevision: () => attribution.pendingRevision });
const deliveries = new Deliveries();
const server = createXdsServer(source, {
  attribution,
  observe: (event) => {
    changes.observe(event);
    deliveries.observe(event);
  },
});
const apply = (text: string) => {
  attribution.beforeChange();
  const commit = database.commit((tx) =>
    setObjects(
      tx,
      readText(text, "mesh.yaml").flatMap((reading) => reading.objects),
    ),
  );
  changes.committed(commit);
  push({ revision: commit.revision });
  return commit.revision;
};
const cart = parseName("VirtualService/shop/cart");
const of = {
  database,
  deliveries,
  connections: () => server.connections(),
  viewOf: () => view,
  generators: { timeouts },
  lookups: {},
  changes,
};

apply(yaml("1s"));
const proxy = new XdsClient(server, { variant: "delta", node: "web" });
proxy.subscribe("timeouts");
await proxy.accept("timeouts");

const revision = apply(yaml("2s"));
const response = await proxy.next("timeouts");
equal(formatStatus(await statusOf(of, cart)), "VirtualService/shop/cart: live on 0 of 1 proxy");
proxy.ack(response);
await proxy.settled();
equal(formatStatus(await statusOf(of, cart)), "VirtualService/shop/cart: live on 1 of 1 proxy");
equal(changes.report(revision)?.proxies, 1);
equal(changes.report(revision)?.pending, 0);
