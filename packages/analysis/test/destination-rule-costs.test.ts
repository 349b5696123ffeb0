import { describe, expect, it } from "vitest";
import { object } from "./messages-in.js";
import { dependenciesOf, recomputedBy } from "./recomputations.js";

const service = object("Service", "shop/cart", {
  spec: { clusterIP: "10.0.0.1", selector: { app: "cart" }, ports: [{ name: "http", port: 80, targetPort: 8080 }] },
});
const ruleWith = (trafficPolicy: Readonly<Record<string, unknown>>): string =>
  object("DestinationRule", "shop/cart", { spec: { host: "cart", trafficPolicy } });
const plain = ruleWith({ connectionPool: { tcp: { maxConnections: 10 } } });
const mutual = ruleWith({ tls: { mode: "ISTIO_MUTUAL" } });
const pod = (i: number, labels: Readonly<Record<string, string>> = {}): string =>
  object(
    "Pod",
    `shop/cart-${i}`,
    {
      spec: { containers: [{ name: "istio-proxy", image: "docker.io/istio/proxyv2:1.31.0" }] },
      status: { phase: "Running", podIP: `10.1.0.${i}` },
    },
    { labels: { app: "cart", ...labels } },
  );
const podsOf = (
  count: number,
  labelsOf: (i: number) => Readonly<Record<string, string>> = () => ({}),
): readonly string[] => Array.from({ length: count }, (_, i) => pod(i, labelsOf(i)));

describe("mutual TLS to a Service with many Pods", () => {
  it("depends on none of them by itself, also if their labels differ", () => {
    const added = (count: number): number => {
      const objects = [service, ...podsOf(count, (i) => ({ "statefulset.kubernetes.io/pod-name": `cart-${i}` }))];
      return dependenciesOf([...objects, mutual]) - dependenciesOf([...objects, plain]);
    };
    expect(added(40)).toBe(added(2));
  });

  it("is not checked again for another Pod of the same template", () => {
    const objects = [service, ...podsOf(10)];
    expect(recomputedBy(pod(10), [...objects, mutual])).toBe(recomputedBy(pod(10), [...objects, plain]));
  });
});
