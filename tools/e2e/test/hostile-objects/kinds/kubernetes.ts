import fc from "fast-check";
import { object, type Manifest } from "./manifest.js";
import { from, list, namespaces, ports, some, texts } from "../values.js";

export const service = fc
  .record({
    metadata: fc.record({ name: from("cart", "a", "constructor", "istio-system", "0a"), namespace: namespaces }),
    spec: some({
      type: from("ClusterIP", "ExternalName", "LoadBalancer"),
      clusterIP: from("10.96.0.1", "None", "10.96.0.2", "2001:db8::1", "::ffff:10.96.0.1", "0.0.0.0"),
      externalIPs: list(from("192.0.2.1", "10.96.0.1", "::")),
      externalName: from("cart.shop.svc.cluster.local", "a.example.com", "a.example.com.", "192.0.2.1"),
      ports: list(
        some(
          {
            name: from("http", "tcp", "grpc-a", "https"),
            port: ports,
            protocol: from("TCP", "UDP"),
            targetPort: from<number | string>(80, 8080, "http"),
            appProtocol: from("http", "kubernetes.io/h2c", "x"),
          },
          ["port"],
        ),
        3,
      ),
      selector: fc.constant({ app: "cart" }),
    }),
  })
  .map((fields): Manifest => ({ apiVersion: "v1", kind: "Service", ...fields }));
export const ingress = object(
  "networking.k8s.io/v1",
  "Ingress",
  some({
    ingressClassName: fc.constant("istio"),
    tls: list(
      some({ hosts: list(from("a.example.com", "*.example.com", "b")), secretName: from("c", "a/b", "~", "a b") }),
    ),
    rules: list(
      some({
        host: from("a.example.com", "*.example.com", "b", "cart"),
        http: fc.record({
          paths: list(
            fc.record({
              path: fc.oneof(texts, from("/a", "/a/.*", "/[", "/a?b", "/a#b", "/a?b/*", "//", "/a//", "a", "/a/")),
              pathType: from("Exact", "Prefix", "ImplementationSpecific"),
              backend: fc.record({
                service: fc.record({
                  name: from("cart", "none"),
                  port: fc.oneof<fc.Arbitrary<object>[]>(
                    ports.map((number) => ({ number })),
                    from({ name: "http" }),
                  ),
                }),
              }),
            }),
          ),
        }),
      }),
    ),
  }),
);
