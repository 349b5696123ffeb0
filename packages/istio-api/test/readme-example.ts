import { fromBinary, fromJson, toBinary, toJson } from "@bufbuild/protobuf";
import { registry } from "@istiod/istio-api/registry";
import { DestinationRuleSchema, ClientTLSSettings_TLSmode as TlsMode } from "@istiod/istio-api/networking/v1alpha3/destination_rule";

// As a user writes it: the `spec` of an object.
const rule = fromJson(DestinationRuleSchema, {
  host: "cart.shop.svc.cluster.local",
  trafficPolicy: { tls: { mode: "ISTIO_MUTUAL" }, outlierDetection: { consecutive5xxErrors: 3, interval: "10s" } },
});
console.log(rule.trafficPolicy?.tls?.mode === TlsMode.ISTIO_MUTUAL, rule.trafficPolicy?.outlierDetection?.interval?.seconds); // true 10n

// What nobody knows is refused, by name.
try {
  fromJson(DestinationRuleSchema, { hots: "cart" });
} catch (error) {
  console.log(String(error)); // … cannot decode message istio.networking.v1alpha3.DestinationRule from JSON: key "hots" is unknown
}

// By name of the message, for those who must open any.
const schema = registry.getMessage("istio.networking.v1alpha3.DestinationRule");
if (schema) console.log(toJson(schema, fromBinary(schema, toBinary(DestinationRuleSchema, rule))));
