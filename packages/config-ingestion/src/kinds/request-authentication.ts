import { collection, index } from "@istiod/incremental";
import { RequestAuthenticationSchema, type RequestAuthentication } from "@istiod/istio-api/security/v1beta1/request_authentication";
import type { ConfigObject } from "../config-object.js";
import { istioKind } from "./istio-kind.js";

export type RequestAuthenticationObject = ConfigObject<RequestAuthentication>;

export const requestAuthentications = collection<RequestAuthenticationObject>("RequestAuthentication");

export const requestAuthenticationsByNamespace = index(requestAuthentications, "byNamespace", (v) => [v.namespace]);

export const requestAuthenticationKind = istioKind({
  kind: "RequestAuthentication",
  group: "security.istio.io",
  versions: ["v1", "v1beta1"],
  schema: RequestAuthenticationSchema,
  collection: requestAuthentications,
});
