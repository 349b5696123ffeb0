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

test("Objects of namespaces that are not discovered are told to be seen by nobody, and to lose to nobody", () => {
  const yaml = service("cart") + namespaces + rule + route("late", cart, {}, { namespace: "other" });
  const { losses } = why(meshOf(yaml, config), proxy(), "cds", `outbound|80||${cart}`);
  const reason =
    "is not seen: no discoverySelector of the mesh configuration selects namespace istio-system of cluster Kubernetes";
  expect(losses).toEqual([{ kind: "DestinationRule", namespace: "istio-system", name: "root", reason }]);
  expect(why(meshOf(yaml), proxy(), "cds", `outbound|80||${cart}`).losses).toEqual([]);

  const routes = why(meshOf(yaml, config), proxy(), "rds", "80").losses.filter(({ kind }) => kind === "VirtualService");
  expect(routes).toEqual([
    {
      kind: "VirtualService",
      namespace: "other",
      name: "*",
      cluster: "Kubernetes",
      reason:
        "(1) not seen: no discoverySelector of the mesh configuration selects namespace other of cluster Kubernetes",
    },
  ]);
});
