import { deepEqual, equal } from "node:assert/strict";
import { create, fromJson } from "@bufbuild/protobuf";
import { ClusterSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { decodePatch, Effects, patchCluster } from "@istiod/envoy-filter";
import {
  EnvoyFilter_EnvoyConfigObjectPatchSchema as ConfigPatchSchema,
  EnvoyFilter_PatchContext as Context,
} from "@istiod/istio-api/networking/v1alpha3/envoy_filter";

const written = fromJson(ConfigPatchSchema, {
  applyTo: "CLUSTER",
  match: { cluster: { service: "cart.shop.svc.cluster.local" } },
  patch: { operation: "MERGE", value: { connect_timeout: "5s" } },
});
const patch = decodePatch("shop/slow#0", written);

const cluster = create(ClusterSchema, {
  name: "outbound|80||cart.shop.svc.cluster.local",
  connectTimeout: { seconds: 10n },
});
const effects = new Effects();
const place = { context: Context.SIDECAR_OUTBOUND, hosts: [] };
const remains = patchCluster(cluster, { [patch.applyTo]: [patch] }, place, effects);

equal(remains, true);
equal(cluster.connectTimeout?.seconds, 5n);
deepEqual(effects.toArray(), [{ patch: "shop/slow#0" }]);
