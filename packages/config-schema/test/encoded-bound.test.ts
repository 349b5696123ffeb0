import { create, toBinary } from "@bufbuild/protobuf";
import { DestinationRuleSchema } from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { EnvoyFilterSchema } from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import { HTTPRouteSchema } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import fc from "fast-check";
import { expect, test } from "vitest";
import { copiedBytes, copiedBytesBound } from "../src/kinds/istio/virtual-service/copied-bytes.js";
import { encodedBound } from "../src/validation/products.js";

const text = fc.string({ unit: "binary", maxLength: 30 });
const seconds = fc.maxSafeInteger().map((value) => ({ seconds: BigInt(value), nanos: 999_999_999 }));
const match = fc.record({
  name: text,
  uri: fc.record({ matchType: fc.record({ case: fc.constant("prefix" as const), value: text }) }),
  port: fc.nat(),
  ignoreUriCase: fc.boolean(),
  withoutHeaders: fc.dictionary(
    text,
    fc.record({ matchType: fc.record({ case: fc.constant("regex" as const), value: text }) }),
  ),
});
const destination = fc.record({ host: text, subset: text, port: fc.record({ number: fc.nat() }) });
const route = fc.record({
  match: fc.array(match, { maxLength: 4 }),
  route: fc.array(fc.record({ destination, weight: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }) })),
  timeout: seconds,
  retries: fc.record({
    attempts: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
    retryRemoteLocalities: fc.boolean(),
  }),
  corsPolicy: fc.record({ allowMethods: fc.array(text), allowCredentials: fc.boolean(), maxAge: seconds }),
});
const rule = fc.record({
  host: text,
  trafficPolicy: fc.record({
    outlierDetection: fc.record({
      consecutive5xxErrors: fc.nat(),
      baseEjectionTime: seconds,
      minHealthPercent: fc.nat(),
    }),
    connectionPool: fc.record({ tcp: fc.record({ maxConnections: fc.nat(), connectTimeout: seconds }) }),
  }),
});
const patch = fc.record({
  configPatches: fc.array(
    fc.record({ patch: fc.record({ value: fc.dictionary(text, fc.jsonValue()) as fc.Arbitrary<never> }) }),
  ),
});

test("the bound of a message is at least the bytes of its encoding", () => {
  fc.assert(
    fc.property(route, rule, patch, (ofRoute, ofRule, ofPatch) => {
      const http = create(HTTPRouteSchema, ofRoute);
      expect(encodedBound(http)).toBeGreaterThanOrEqual(toBinary(HTTPRouteSchema, http).length);
      expect(copiedBytesBound([http, http])).toBeGreaterThanOrEqual(copiedBytes([http, http]));
      const policy = create(DestinationRuleSchema, ofRule);
      expect(encodedBound(policy)).toBeGreaterThanOrEqual(toBinary(DestinationRuleSchema, policy).length);
      const filter = create(EnvoyFilterSchema, ofPatch);
      expect(encodedBound(filter)).toBeGreaterThanOrEqual(toBinary(EnvoyFilterSchema, filter).length);
    }),
  );
});
