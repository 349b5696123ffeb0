import fc from "fast-check";
import { isAccepted } from "./mesh.js";
import type { Manifest } from "./kinds/manifest.js";

/**
 * Objects that are valid alone, with few names, hosts, ports and addresses, so that several of them claim the same
 * domain, SNI, address or name.
 */

const from = <T>(...values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values);
const list = <T>(item: fc.Arbitrary<T>, maxLength = 2): fc.Arbitrary<T[]> =>
  fc.array(item, { minLength: 1, maxLength });

const cart = "cart.shop.svc.cluster.local";
const namespaces = from("shop", "other", "istio-system");
const hosts = from(
  "a.example.com",
  "A.Example.com",
  "b.example.com",
  "*.example.com",
  "*.EXAMPLE.com",
  cart,
  "a.com",
  "*.shop.svc.cluster.local",
  "*-a.example.com",
  "*a.com",
);
const ports = from(80, 443, 9000, 15_006);
const protocols = from("HTTP", "HTTP2", "GRPC", "TCP", "TLS", "HTTPS", "MONGO");
const binds = from("", "0.0.0.0", "10.0.0.9", "::", "0:0:0:0:0:0:0:0", "::ffff:10.0.0.9");
const cidrs = from(
  "10.96.0.1",
  "10.96.0.1/32",
  "10.96.0.0/24",
  "10.96.0.7/24",
  "0.0.0.0/0",
  "240.0.0.1",
  "2001:db8::1",
);
const subset = from("", "v1", "v2");
const destination = fc.record({ host: hosts, subset, port: fc.record({ number: ports }) }, { requiredKeys: ["host"] });
const route = list(fc.record({ destination, weight: from(1, 50) }), 2);

const metadata = fc.record({ name: from("a", "b", "c", "d"), namespace: namespaces });
const object = (kind: string, spec: fc.Arbitrary<unknown>): fc.Arbitrary<Manifest> =>
  fc.record({ apiVersion: fc.constant("networking.istio.io/v1"), kind: fc.constant(kind), metadata, spec });

const gatewayHosts = fc
  .tuple(from("", "./", "*/", "shop/", "other/"), fc.oneof(hosts, fc.constant("*")))
  .map(([namespace, host]) => namespace + host);
const tls = fc.oneof(
  from<object>(
    { mode: "SIMPLE", credentialName: "cert" },
    { mode: "SIMPLE", credentialName: "sds://" },
    { mode: "MUTUAL", credentialName: "sds://" },
    { mode: "SIMPLE", credentialNames: ["sds://", "cert"] },
    { mode: "SIMPLE", credentialName: "sds://cert@provider" },
    { mode: "MUTUAL", credentialName: "sds://@provider" },
    { mode: "SIMPLE", credentialNames: ["sds://cert", "sds://cert@provider"] },
    { mode: "PASSTHROUGH" },
    { mode: "AUTO_PASSTHROUGH" },
    { mode: "ISTIO_MUTUAL" },
  ),
);
const server = fc
  .record({ number: ports, protocol: protocols, name: from("p", "q"), bind: binds, hosts: list(gatewayHosts), tls })
  .map(({ number, name, protocol, tls: settings, ...more }) => {
    const isTls = protocol === "TLS" || protocol === "HTTPS";
    return { ...more, port: { number, name, protocol }, ...(isTls && { tls: settings }) };
  });
const gateway = object("Gateway", fc.record({ selector: fc.constant({ istio: "ingress" }), servers: list(server, 3) }));

const boundTo = from<string[] | undefined>(undefined, ["mesh"], ["shop/a", "mesh"], ["istio-system/a", "other/b"]);
const sniHosts = list(hosts, 3);
const virtualService = object(
  "VirtualService",
  fc.tuple(boundTo, list(fc.oneof(hosts, fc.constant("*")), 3)).chain(([gateways, virtualHosts]) =>
    fc
      .record(
        {
          hosts: fc.constant(virtualHosts),
          http: list(fc.record({ route }), 1),
          tcp: list(
            fc.record(
              {
                match: list(fc.record({ port: ports, destinationSubnets: list(cidrs) }, { requiredKeys: ["port"] })),
                route,
              },
              { requiredKeys: ["route"] },
            ),
          ),
          tls: list(
            fc.record({
              match: list(
                fc.record({ port: ports, sniHosts, destinationSubnets: list(cidrs) }, { requiredKeys: ["sniHosts"] }),
              ),
              route,
            }),
          ),
        },
        { requiredKeys: ["hosts"] },
      )
      .map((spec) => ({ ...spec, ...(gateways && { gateways }) })),
  ),
);

const declaredPort = fc.record({ number: ports, name: from("p", "q"), protocol: protocols });
const serviceEntry = object(
  "ServiceEntry",
  fc.record(
    {
      hosts: list(hosts, 2),
      addresses: list(cidrs, 3),
      ports: list(declaredPort, 3),
      resolution: from("NONE", "STATIC", "DNS", "DYNAMIC_DNS"),
      endpoints: fc.constant([{ address: "192.0.2.1" }]),
      location: from("MESH_EXTERNAL", "MESH_INTERNAL"),
    },
    { requiredKeys: ["hosts", "ports", "resolution"] },
  ),
);

const destinationRule = object(
  "DestinationRule",
  fc.record({
    host: hosts,
    subsets: list(
      from("v1", "v2").map((name) => ({ name, labels: { version: name } })),
      2,
    ),
  }),
);

const sidecar = object(
  "Sidecar",
  fc.record(
    {
      egress: list(
        fc.record(
          {
            port: declaredPort,
            bind: from("127.0.0.1", "::ffff:127.0.0.1", "::1", "0:0:0:0:0:0:0:1", "10.96.0.1", "0.0.0.0", "::"),
            hosts: fc.constant(["*/*"]),
            captureMode: from("DEFAULT", "IPTABLES", "NONE"),
          },
          { requiredKeys: ["hosts"] },
        ),
        3,
      ),
      ingress: list(
        fc
          .record({ port: declaredPort, bind: from("", "127.0.0.1", "10.0.0.1"), captureMode: from("DEFAULT", "NONE") })
          .map((listener) => ({ ...listener, defaultEndpoint: "127.0.0.1:8080" })),
        3,
      ),
    },
    { requiredKeys: ["egress"] },
  ),
);

const service = fc
  .record({
    metadata,
    type: from("ClusterIP", "ExternalName", "Headless"),
    ports: list(fc.record({ name: from("http-a", "tcp-a", "tls-a", "mongo-a", "a"), port: ports }), 3),
  })
  .map(({ metadata: named, type, ports: declared }): Manifest => {
    const spec = {
      ports: declared.map((port, i) => ({ ...port, name: `${port.name}${i}` })),
      ...(type === "ExternalName"
        ? { type, externalName: "a.example.com" }
        : { clusterIP: type === "Headless" ? "None" : "10.96.0.1", selector: { app: "cart" } }),
    };
    return { apiVersion: "v1", kind: "Service", metadata: named, spec };
  });

/** An object that is likely to collide with others of its kind. */
export const collidingObject: fc.Arbitrary<Manifest> = fc.oneof(
  gateway,
  gateway,
  virtualService,
  virtualService,
  serviceEntry,
  serviceEntry,
  destinationRule,
  sidecar,
  service,
);

/** Several objects that are likely to collide. */
export const collidingObjects: fc.Arbitrary<readonly Manifest[]> = fc.array(collidingObject.filter(isAccepted), {
  minLength: 2,
  maxLength: 7,
});
