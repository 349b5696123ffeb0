import { expect, test } from "vitest";
import { cart, meshOf, object, proxy, route, service, why } from "./mesh.js";

const rule = object(
  "DestinationRule",
  "root",
  { host: cart, trafficPolicy: { connectionPool: { tcp: { maxConnections: 7 } } } },
  { namespace: "istio-system" },
);
const namespaces =
  '---\n{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {mesh: "on"}}}\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: other}}\n';
const config = { discoverySelectors: [{ matchLabels: { mesh: "on" } }] };

test("objects in undiscovered namespaces are reported as not discovered, without an object that overrides them", () => {
  const yaml = service("cart") + namespaces + rule + route("late", cart, {}, { namespace: "other" });
  const { ignored } = why(meshOf(yaml, config), proxy(), "cds", `outbound|80||${cart}`);
  const reason =
    "is not discovered: no discoverySelector of the mesh configuration selects namespace istio-system of cluster Kubernetes";
  expect(ignored).toEqual([{ kind: "DestinationRule", namespace: "istio-system", name: "root", reason }]);
  expect(why(meshOf(yaml), proxy(), "cds", `outbound|80||${cart}`).ignored).toEqual([]);

  const routes = why(meshOf(yaml, config), proxy(), "rds", "80").ignored.filter(
    ({ kind }) => kind === "VirtualService",
  );
  expect(routes).toEqual([
    {
      kind: "VirtualService",
      namespace: "other",
      name: "*",
      cluster: "Kubernetes",
      reason:
        "(1) not discovered: no discoverySelector of the mesh configuration selects namespace other of cluster Kubernetes",
    },
  ]);
});
