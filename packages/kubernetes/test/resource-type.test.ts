import { resourcePath } from "@istiod/kubernetes";
import { expect, test } from "vitest";

const pods = { group: "", version: "v1", kind: "Pod", plural: "pods", namespaced: true };
const gatewayClasses = {
  group: "gateway.networking.k8s.io",
  version: "v1",
  kind: "GatewayClass",
  plural: "gatewayclasses",
  namespaced: false,
};

test("a path names the collection, the object or the subresource", () => {
  expect(resourcePath(pods)).toBe("/api/v1/pods");
  expect(resourcePath(pods, { namespace: "shop" })).toBe("/api/v1/namespaces/shop/pods");
  expect(resourcePath(pods, { namespace: "shop", name: "cart", subresource: "status" })).toBe(
    "/api/v1/namespaces/shop/pods/cart/status",
  );
  expect(resourcePath(gatewayClasses, { name: "istio" })).toBe(
    "/apis/gateway.networking.k8s.io/v1/gatewayclasses/istio",
  );
});

test("names cannot leave their segment of the path", () => {
  expect(resourcePath(pods, { namespace: "a/../b", name: "?watch=1" })).toBe(
    "/api/v1/namespaces/a%2F..%2Fb/pods/%3Fwatch%3D1",
  );
});
