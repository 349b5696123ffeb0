import { isIP } from "node:net";
import { workloadEntries, type WorkloadEntryObject } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import type { WorkloadEntry } from "@istiod/istio-api/networking/v1alpha3/workload_entry";
import { localityFromLabels, hasTlsMode, tlsModeFromLabels, WORKLOAD_NAME_LABEL, withTopology } from "../labels.js";
import { DISABLED_TLS_MODE, ISTIO_MUTUAL_TLS_MODE } from "../model/endpoint.js";
import type { Labels } from "../model/service.js";
import type { Workload } from "../model/workload.js";
import { workloadNetwork } from "../network/workload-network.js";
import { settings } from "../settings/features.js";
import { spiffeId } from "../settings/mesh.js";

/** Prefix of an address that is the path of a Unix socket. */
export const UNIX_PREFIX = "unix://";

const HEALTH_CHECKS = "proxy.istio.io/health-checks-enabled";
const REGISTRATION_GROUP = "istio.io/autoRegistrationGroup";
const TRUE = ["1", "t", "T", "TRUE", "true", "True"];

/** The workload of a WorkloadEntry (`cluster/namespace/name`); undefined if it does not exist or is unhealthy. */
export const entryWorkload = query("entryWorkload", (q, key: string): Workload | undefined => {
  const object = q.read(workloadEntries, key);
  if (object === undefined || !isUsable(q, object)) return undefined;
  const { annotations, labels, name } = object;
  return convertWorkloadEntry(q, object.spec, {
    cluster: object.cluster,
    namespace: object.namespace,
    name,
    workloadName: annotations[REGISTRATION_GROUP] ?? labels[WORKLOAD_NAME_LABEL] ?? name,
    labels: { ...object.spec.labels, ...labels },
  });
});

function isUsable(q: QueryContext, { cluster, annotations, status }: WorkloadEntryObject): boolean {
  const allowsOtherClusters = (): boolean =>
    settings.crossClusterWorkloadEntries(q) && settings.serviceSelectsWorkloadEntries(q);
  if (cluster !== settings.configCluster(q) && !allowsOtherClusters()) return false;
  const checked = settings.workloadEntryHealthChecks(q) && TRUE.includes(annotations[HEALTH_CHECKS] ?? "");
  return !checked || status?.healthy === true;
}

/** Metadata of a workload entry: of a WorkloadEntry, or of the ServiceEntry that lists it as an endpoint. */
export interface EntryOrigin {
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
  readonly workloadName: string;
  readonly labels: Labels;
}

/** Converts a workload entry to a workload. Source: `serviceentry/conversion.go`. */
export function convertWorkloadEntry(q: QueryContext, entry: WorkloadEntry, origin: EntryOrigin): Workload {
  const { cluster, namespace, labels } = origin;
  const locality = entry.locality || localityFromLabels(labels);
  const clusterNetwork =
    cluster !== settings.configCluster(q) ? workloadNetwork(q, cluster, entry.address, labels) : "";
  return {
    kind: "WorkloadEntry",
    cluster,
    namespace,
    name: origin.name,
    workloadName: origin.workloadName,
    addresses: [entry.address],
    labels: withTopology(labels, { cluster, locality, nodeName: "", network: entry.network || clusterNetwork }),
    serviceAccount: entry.serviceAccount,
    identity: entry.serviceAccount === "" ? "" : spiffeId(q, namespace, entry.serviceAccount),
    locality,
    network: entry.network,
    nodeName: "",
    tlsMode: hasTlsMode(labels)
      ? tlsModeFromLabels(labels)
      : entry.serviceAccount === ""
        ? DISABLED_TLS_MODE
        : ISTIO_MUTUAL_TLS_MODE,
    hostname: "",
    subdomain: "",
    weight: entry.weight,
    ports: entry.ports,
    dnsOnly: entry.address !== "" && isIP(entry.address) === 0,
  };
}
