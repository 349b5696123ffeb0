import { deepEqual } from "node:assert/strict";
import { formatPath } from "@istiod/config-schema";
import { validate } from "@istiod/validation";

const [verdict] = validate({
  apiVersion: "networking.istio.io/v1alpha3",
  kind: "EnvoyFilter",
  metadata: { name: "slow", namespace: "shop" },
  spec: {
    configPatches: [{ applyTo: "CLUSTER", patch: { operation: "MERGE", value: { connect_timeout: "10" } } }],
  },
});
deepEqual(verdict?.outcome, "rejected");
deepEqual(
  verdict.issues
    .filter(({ severity }) => severity === "error")
    .map(({ path, message }) => `${formatPath(path)}: ${message}`),
  ['configPatches[0].patch.value.connect_timeout: is "10", expected a duration such as 1.5s'],
);
