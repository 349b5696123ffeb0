import { collection, index } from "@istiod/incremental";
import { clusterKey, type ConfigObject } from "../../config-object.js";
import { Fields } from "../../decoding/fields.js";
import { discoveryNamespacesFilter } from "../../mesh/discovered-namespaces.js";
import { containerFields, readContainers, readRunAsUser, type Container } from "./container.js";
import {
  checkedString,
  expectedAddress,
  expectedLabel,
  expectedPortName,
  expectedSubdomain,
} from "../../validation/kubernetes/fields.js";
import {
  isContainerPortName,
  isLowerCaseLabel,
  isPlainIpAddress,
  isSubdomain,
} from "../../validation/kubernetes/names.js";
import { isIstioKey } from "../istio/istio-keys.js";
import { declareKind } from "../kind.js";

export interface ContainerPort {
  readonly name: string;
  readonly containerPort: number;
  readonly protocol: string;
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
}

export interface PodSpec {
  /** UID that the API server gave the Pod. Absent for Pods of files. */
  readonly uid?: string;
  readonly serviceAccountName: string;
  /** Empty until the pod is scheduled. */
  readonly nodeName: string;
  readonly hostNetwork: boolean;
  readonly hostname: string;
  readonly subdomain: string;
  /** Ports of all containers and of restartable init containers, in order. */
  readonly ports: readonly ContainerPort[];
  /** Containers and init containers, in order. */
  readonly containers: readonly Container[];
  /** User ID of the pod's security context. Undefined: the image's. */
  readonly runAsUser?: number;
  /** The controlling owner, such as a ReplicaSet. */
  readonly controller?: OwnerReference;
  readonly generateName: string;
  /** Reports whether deletion was requested. */
  readonly terminating: boolean;
}

export interface PodStatus {
  /** `Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`. */
  readonly phase: string;
  /** All addresses, the primary one first. */
  readonly podIPs: readonly string[];
  /** The condition `Ready`. */
  readonly ready: boolean;
}

export type PodObject = ConfigObject<PodSpec, PodStatus>;

/** Pods by `cluster/ns/name`. */
export const pods = collection<PodObject>("Pod", { filter: discoveryNamespacesFilter });

/** Pods of all clusters by each of their addresses, including pods on the host network. */
export const podsByAddress = index(pods, "byAddress", (p) => p.status?.podIPs ?? []);

/** Pods by `cluster/ns`. */
export const podsByNamespace = index(pods, "byNamespace", (p) => [`${p.cluster}/${p.namespace}`]);

/** Pods by the node and the service account that they run with, as `cluster/node/ns/account`. */
export const podsByNodeAccount = index(pods, "byNodeAccount", ({ cluster, namespace, spec }) =>
  spec.nodeName === "" ? [] : [`${cluster}/${spec.nodeName}/${namespace}/${spec.serviceAccountName}`],
);

export const podKind = declareKind<PodSpec, PodStatus>({
  kind: "Pod",
  group: "",
  versions: ["v1"],
  scope: "namespaced",
  collection: pods,
  labels: "all",
  annotations: isIstioKey,
  fields: {
    metadata: {
      uid: true,
      generateName: true,
      deletionTimestamp: true,
      ownerReferences: { apiVersion: true, kind: true, name: true, controller: true },
    },
    spec: {
      ...containerFields,
      serviceAccountName: true,
      nodeName: true,
      hostNetwork: true,
      hostname: true,
      subdomain: true,
    },
    status: { podIP: true, podIPs: { ip: true }, phase: true, conditions: { type: true, status: true } },
  },
  // Pods that failed keep their addresses, which other pods can have by then.
  fieldSelector: "status.phase!=Failed",
  key: clusterKey,
  decode(manifest, report) {
    const body = Fields.of(manifest.body, report);
    const metadata = body.object("metadata");
    const spec = body.object("spec");
    const status = body.object("status");
    const uid = metadata.string("uid");
    const owner = metadata.list("ownerReferences").find((o) => o.boolean("controller"));
    const podIP = checkedString(status, "podIP", isPlainIpAddress, expectedAddress);
    const podIPs = status
      .list("podIPs")
      .map((i) => checkedString(i, "ip", isPlainIpAddress, expectedAddress))
      .filter((ip) => ip !== "" && ip !== podIP);
    const running = [
      ...spec.list("containers"),
      ...spec.list("initContainers").filter((c) => c.string("restartPolicy") === "Always"),
    ];
    return {
      spec: {
        ...(uid !== "" && { uid }),
        serviceAccountName: checkedString(spec, "serviceAccountName", isSubdomain, expectedSubdomain) || "default",
        nodeName: checkedString(spec, "nodeName", isSubdomain, expectedSubdomain),
        hostNetwork: spec.boolean("hostNetwork"),
        hostname: checkedString(spec, "hostname", isLowerCaseLabel, expectedLabel),
        subdomain: checkedString(spec, "subdomain", isLowerCaseLabel, expectedLabel),
        ports: running.flatMap((c) =>
          c.list("ports").map((p) => ({
            name: checkedString(p, "name", isContainerPortName, expectedPortName),
            containerPort: p.port("containerPort"),
            protocol: p.string("protocol", "TCP"),
          })),
        ),
        containers: readContainers(spec),
        ...readRunAsUser(spec),
        ...(owner !== undefined && {
          controller: {
            apiVersion: owner.string("apiVersion"),
            kind: owner.string("kind"),
            name: owner.string("name"),
          },
        }),
        generateName: metadata.string("generateName"),
        terminating: metadata.string("deletionTimestamp") !== "",
      },
      status: {
        phase: status.string("phase"),
        podIPs: podIP === "" ? podIPs : [podIP, ...podIPs],
        ready: status.list("conditions").some((c) => c.string("type") === "Ready" && c.string("status") === "True"),
      },
    };
  },
});
