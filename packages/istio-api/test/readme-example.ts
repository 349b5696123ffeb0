import { deepEqual, equal, throws } from "node:assert/strict";
import { fromBinary, fromJson, toBinary, toJson } from "@bufbuild/protobuf";
import { registry } from "@istiod/istio-api/registry";
import {
  DestinationRuleSchema,
  ClientTLSSettings_TLSmode as TlsMode,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";

// The `spec` of an object, as in YAML.
const rule = fromJson(DestinationRuleSchema, {
  host: "cart.shop.svc.cluster.local",
  trafficPolicy: { tls: { mode: "ISTIO_MUTUAL" }, outlierDetection: { consecutive5xxErrors: 3, interval: "10s" } },
});
equal(rule.trafficPolicy?.tls?.mode, TlsMode.ISTIO_MUTUAL);
equal(rule.trafficPolicy?.outlierDetection?.interval?.seconds, 10n);

// Unknown fields are rejected by name.
throws(
  () => fromJson(DestinationRuleSchema, { hots: "cart" }),
  /cannot decode message istio.networking.v1alpha3.DestinationRule from JSON: key "hots" is unknown/,
);

// The registry finds a schema by message name, to decode any message.
const schema = registry.getMessage("istio.networking.v1alpha3.DestinationRule");
deepEqual(schema && toJson(schema, fromBinary(schema, toBinary(DestinationRuleSchema, rule))), {
  host: "cart.shop.svc.cluster.local",
  trafficPolicy: { tls: { mode: "ISTIO_MUTUAL" }, outlierDetection: { consecutive5xxErrors: 3, interval: "10s" } },
});
