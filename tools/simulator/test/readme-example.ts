import { deepEqual } from "node:assert/strict";
import { create } from "@bufbuild/protobuf";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { simulate } from "@istiod/simulator";

const virtualOutbound = create(ListenerSchema, { name: "virtualOutbound", filterChains: [{ name: "direct-tcp" }] });
deepEqual(simulate({ listeners: [virtualOutbound], routes: new Map() }, { port: 80, protocol: "http" }), {
  listenerMatched: "virtualOutbound",
  filterChainMatched: "direct-tcp",
});
