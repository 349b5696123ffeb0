import fc from "fast-check";
import { from, list, some, texts } from "../../values.js";

/** Values of the Gateway API, most of which are valid, so that objects with one hostile value are accepted. */

export const group = "gateway.networking.k8s.io/v1";

/** Names of objects: the Gateway API bounds only their length. */
export const objectNames = fc.oneof(
  { weight: 4, arbitrary: from("cart", "front", "a") },
  { weight: 1, arbitrary: from("absent", "a b", "a|b", "a\nb", "a/b", "é", "x".repeat(253), "*", "%s", "cart.shop") },
);
export const hostnames = from(
  "a.example.com",
  "*.example.com",
  "*.com",
  "b.a.example.com",
  "cart.shop.svc.cluster.local",
  "A.example.com",
  `${"a".repeat(63)}.${"b".repeat(63)}.${"c".repeat(63)}.example.com`,
  "x".repeat(63),
  "*",
  "192.0.2.1",
);
export const sectionNames = from("http", "https", "tls", "tcp", "a.b", "x".repeat(63));
export const portNumbers = fc.oneof(
  { weight: 6, arbitrary: from(80, 443, 9000) },
  { weight: 1, arbitrary: from(0, 1, 8080, 15_006, 65_535, 65_536, -1) },
);
/** Durations in the form of the API, and others. */
export const goDurations = from("0s", "1ms", "1s", "1h30m", "99999h", "99999h99999h", "0.5s", "-1s", "1us", "00s");

export const backendObject = fc.oneof(
  { weight: 6, arbitrary: fc.record({ name: fc.constant("cart"), namespace: fc.constant("shop"), port: portNumbers }) },
  {
    weight: 2,
    arbitrary: some(
      {
        group: from("", "networking.istio.io", "inference.networking.k8s.io", "gateway.networking.x-k8s.io", "x y"),
        kind: from("Service", "Hostname", "InferencePool", "XBackend", "ServiceImport"),
        name: objectNames,
        namespace: from("shop", "other", "a b"),
        port: portNumbers,
      },
      ["name"],
    ),
  },
);

export const parentRefs = list(
  fc.oneof(
    { weight: 4, arbitrary: fc.constant({ name: "front", namespace: "istio-system" }) },
    {
      weight: 2,
      arbitrary: fc.record({
        name: fc.constant("front"),
        namespace: fc.constant("istio-system"),
        sectionName: sectionNames,
      }),
    },
    {
      weight: 2,
      arbitrary: fc
        .record({ port: from(80, 443, 9000, 0) })
        .map((port) => ({ kind: "Service", group: "", name: "cart", namespace: "shop", ...port })),
    },
    {
      weight: 1,
      arbitrary: some(
        {
          group: from("", "networking.istio.io", "gateway.networking.k8s.io"),
          kind: from("Gateway", "Service", "ServiceEntry", "ListenerSet"),
          name: objectNames,
          namespace: from("shop", "other", "istio-system"),
          port: portNumbers,
        },
        ["name"],
      ),
    },
  ),
  2,
);

/** Texts and values at Envoy's bounds of lengths. */
export const headerValues = fc.oneof(texts, from("x".repeat(16_384), "x".repeat(16_385), "a\tb", "\u007f"));
