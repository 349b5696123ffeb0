import { expect, test } from "vitest";
import { messagesIn, object } from "./messages-in.js";
import { dependenciesOf } from "./recomputations.js";

const pod = (name: string): string =>
  object("Pod", name, { spec: { containers: [{ name: "app" }, { name: "istio-proxy", image: "proxyv2" }] } });
const entry = (name: string, port: number, spec: object = {}, metadata: object = {}): string =>
  object(
    "ServiceEntry",
    name,
    {
      spec: {
        hosts: ["www.example.com"],
        ports: [{ number: port, name: `http-${port}`, protocol: "HTTP" }],
        resolution: "DNS",
        ...spec,
      },
    },
    { creationTimestamp: `2025-01-01T00:${port % 60}:00Z`.replace(/:(\d):/, ":0$1:"), ...metadata },
  );
const mesh = pod("shop/web") + pod("bank/teller") + pod("cafe/bar");
const registryOnly = { file: "mesh.yaml", text: "outboundTrafficPolicy: {mode: REGISTRY_ONLY}" };
const found = (text: string, options: Parameters<typeof messagesIn>[2] = {}): readonly string[] =>
  messagesIn(mesh + text, ["MESH0027"], options).map((message) => message.replace(/^(\S+ \S+ \S+) \d+/, "$1"));
const unmanaged = "connections to it are not managed by the mesh";

test("a port that another namespace's declaration hides is reported", () => {
  const text = entry("shop/own", 120, { exportTo: ["."] }) + entry("bank/public", 443);
  const lost = (consequence: string): string =>
    `MESH0027 ServiceEntry bank/public: sidecars of namespace shop do not have port 443 of www.example.com: ServiceEntry shop/own of their own namespace declares the host, and declarations of several namespaces are not merged, so that ${consequence}`;
  expect(found(text)).toEqual([lost(unmanaged)]);
  expect(found(text, { meshConfig: registryOnly })).toEqual([lost("connections to it are blocked")]);
});

test("ports of declarations of one namespace that are not alike are reported", () => {
  const lost = (name: string, clients: string, port: number, why: string): string =>
    `MESH0027 ServiceEntry shop/${name}: sidecars of namespace ${clients} do not have port ${port} of www.example.com: ServiceEntry shop/${why}, so that requests to it fail (503, no cluster)`;
  const first = entry("shop/first", 120);
  const differing = (what: string): string =>
    `first declares the host, takes precedence, and its ports are not merged with those of declarations that differ in ${what}`;
  expect(found(first + entry("shop/second", 121, {}, { labels: { team: "x" } }))).toEqual([
    lost("second", "bank, shop", 121, differing("labels")),
  ]);
  expect(found(first + entry("shop/second", 121, { resolution: "NONE" }))).toEqual([
    lost("second", "bank, shop", 121, differing("resolution")),
  ]);
  expect(found(first + entry("shop/second", 121, { exportTo: ["."] }))).toEqual([
    lost(
      "first",
      "shop",
      120,
      "second declares the host, is exported to named namespaces, which takes precedence over public ones, and its ports are not merged with those of declarations that differ in exportTo",
    ),
  ]);
});

test("connections to a lost port of a declaration of the same namespace are closed, as its listener has no cluster", () => {
  const tcp = { ports: [{ number: 121, name: "tcp", protocol: "TCP" }], exportTo: ["."] };
  const text = entry("shop/first", 120, { ports: [{ number: 120, name: "tcp", protocol: "TCP" }] });
  const consequence = (more: string): readonly string[] =>
    found(text + entry("shop/second", 121, tcp) + more).map((message) => message.slice(message.indexOf("so that")));
  expect(consequence("")).toEqual(["so that connections to it are closed"]);
  const importing = (port: object): string =>
    object("Sidecar", "shop/default", { spec: { egress: [{ ...port, hosts: ["./*"] }] } });
  expect(consequence(importing({}))).toEqual(["so that connections to it are closed"]);
  expect(consequence(importing({ port: { number: 121, name: "tcp", protocol: "TCP" } }))).toEqual([
    `so that ${unmanaged}`,
  ]);
});

test("ports that are merged, or not exported to clients, are not reported", () => {
  expect(found(entry("shop/first", 120) + entry("shop/second", 121))).toEqual([]);
  expect(found(entry("shop/first", 120, { exportTo: ["."] }) + entry("bank/second", 121, { exportTo: ["."] }))).toEqual(
    [],
  );
  expect(found(entry("shop/first", 120))).toEqual([]);
});

/** Returns the dependencies of the analysis of ServiceEntries that declare the same host. */
function dependenciesAmong(entries: number): number {
  const declared = Array.from({ length: entries }, (_, n) => entry(`shop/same-${n}`, 80, { resolution: "STATIC" }));
  return dependenciesOf([mesh, ...declared]);
}

test("each declaration of a host is analyzed without all others of the host", () => {
  const [few, more, many] = [20, 40, 80].map(dependenciesAmong);
  expect(many! - more!).toBe(2 * (more! - few!));
});
