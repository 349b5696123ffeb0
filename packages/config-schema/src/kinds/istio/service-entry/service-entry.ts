import { collection, index } from "@istiod/incremental";
import { ServiceEntrySchema, type ServiceEntry } from "@istiod/istio-api/networking/v1alpha3/service_entry";
import type { ConfigObject } from "../../../config-object.js";
import { record, records, text } from "../../../decoding/json.js";
import { discoveryNamespacesFilter } from "../../../mesh/discovered-namespaces.js";
import { atMost, port, required, size, uniqueBy, type Shape } from "../../../validation/shape.js";
import { workloadSelectorShape } from "../../../validation/targets.js";
import { workloadShape } from "../../../validation/network/workload.js";
import { istioKind } from "../istio-kind.js";
import { checkServiceEntry } from "./check.js";

/** An address allocated for a host without one. */
export interface AllocatedAddress {
  readonly value: string;
  /** The host. Empty in objects of older versions, which have only one. */
  readonly host: string;
}

export interface ServiceEntryStatus {
  readonly addresses: readonly AllocatedAddress[];
}

export type ServiceEntryObject = ConfigObject<ServiceEntry, ServiceEntryStatus>;

export const serviceEntries = collection<ServiceEntryObject>("ServiceEntry", { filter: discoveryNamespacesFilter });

export const serviceEntriesByHost = index(serviceEntries, "byHost", (v) => v.spec.hosts);

const shape: Shape = {
  "": required("hosts"),
  hosts: size(1, 256),
  addresses: atMost(256),
  "addresses[]": atMost(64),
  endpoints: atMost(4096),
  ...workloadShape("endpoints[]"),
  ports: [atMost(256), uniqueBy("name"), uniqueBy("number")],
  "ports[]": required("number", "name"),
  "ports[].name": atMost(256),
  "ports[].number": port,
  "ports[].protocol": atMost(256),
  "ports[].targetPort": port,
  ...workloadSelectorShape,
};

export const serviceEntryKind = istioKind({
  kind: "ServiceEntry",
  group: "networking.istio.io",
  versions: ["v1", "v1beta1", "v1alpha3"],
  schema: ServiceEntrySchema,
  collection: serviceEntries,
  labels: "all",
  status: decodeStatus,
  statusFields: { addresses: { value: true, host: true } },
  conditions: ["istio.io/WaypointBound"],
  shape,
  specRequired: true,
  validate: checkServiceEntry,
});

function decodeStatus(status: unknown): ServiceEntryStatus | undefined {
  const addresses = records(record(status)?.["addresses"]).flatMap((a) => {
    const value = text(a["value"]);
    return value === undefined ? [] : [{ value, host: text(a["host"]) ?? "" }];
  });
  return addresses.length === 0 ? undefined : { addresses };
}
