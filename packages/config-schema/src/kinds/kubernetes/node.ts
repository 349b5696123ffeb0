import { collection } from "@istiod/incremental";
import { clusterKey, type ConfigObject } from "../../config-object.js";
import { Fields } from "../../decoding/fields.js";
import { isIstioKey } from "../istio/istio-keys.js";
import { declareKind } from "../kind.js";

export interface NodeAddress {
  /** `InternalIP`, `ExternalIP`, `Hostname`, `InternalDNS` or `ExternalDNS`. */
  readonly type: string;
  readonly address: string;
}

export interface NodeSpec {
  readonly addresses: readonly NodeAddress[];
  /** `status.nodeInfo.kubeletVersion`. */
  readonly kubeletVersion?: string;
}
export type NodeObject = ConfigObject<NodeSpec>;

/** Nodes by `cluster/name`, with all labels: they hold the locality, and Services select nodes by any of them. */
export const nodes = collection<NodeObject>("Node");

export const nodeKind = declareKind<NodeSpec, undefined>({
  kind: "Node",
  group: "",
  versions: ["v1"],
  scope: "cluster",
  collection: nodes,
  labels: "all",
  annotations: isIstioKey,
  fields: { status: { addresses: { type: true, address: true }, nodeInfo: { kubeletVersion: true } } },
  key: clusterKey,
  decode(manifest, report) {
    const status = Fields.of(manifest.body, report).object("status");
    const addresses = status.list("addresses").map((a) => ({ type: a.string("type"), address: a.string("address") }));
    const kubeletVersion = status.object("nodeInfo").string("kubeletVersion");
    return { spec: { addresses, ...(kubeletVersion !== "" && { kubeletVersion }) } };
  },
});
