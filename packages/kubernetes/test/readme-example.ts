import { equal } from "node:assert/strict";
import { apiVersionOf, resourcePath } from "@istiod/kubernetes";

const virtualServices = {
  group: "networking.istio.io",
  version: "v1",
  kind: "VirtualService",
  plural: "virtualservices",
  namespaced: true,
};
equal(
  resourcePath(virtualServices, { namespace: "shop", name: "cart" }),
  "/apis/networking.istio.io/v1/namespaces/shop/virtualservices/cart",
);
equal(apiVersionOf(virtualServices), "networking.istio.io/v1");
