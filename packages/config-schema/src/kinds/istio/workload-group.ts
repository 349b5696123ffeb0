import { collection } from "@istiod/incremental";
import {
  WorkloadGroupSchema,
  type ReadinessProbe,
  type WorkloadGroup,
} from "@istiod/istio-api/networking/v1alpha3/workload_group";
import type { ConfigObject } from "../../config-object.js";
import { discoveryNamespacesFilter } from "../../mesh/discovered-namespaces.js";
import { checkPort } from "../../validation/network/addresses.js";
import { checkLabels } from "../../validation/network/names.js";
import { each, type Place } from "../../validation/place.js";
import { atMost, matches, notEmpty, port, range, required, type Shape } from "../../validation/shape.js";
import { workloadShape } from "../../validation/network/workload.js";
import { istioKind } from "./istio-kind.js";

export type WorkloadGroupObject = ConfigObject<WorkloadGroup>;

export const workloadGroups = collection<WorkloadGroupObject>("WorkloadGroup", { filter: discoveryNamespacesFilter });

const shape: Shape = {
  "": required("template"),
  "metadata.annotations": atMost(256),
  "metadata.labels": atMost(256),
  ...workloadShape("template"),
  "probe.exec": required("command"),
  "probe.exec.command[]": notEmpty,
  "probe.grpc.port": port,
  "probe.httpGet": required("port"),
  "probe.httpGet.httpHeaders[].name": matches(/^[-_A-Za-z0-9]+$/, "the name of a header"),
  "probe.tcpSocket": required("port"),
  "probe.timeoutSeconds": range(0, Number.POSITIVE_INFINITY),
};

export const workloadGroupKind = istioKind({
  kind: "WorkloadGroup",
  group: "networking.istio.io",
  versions: ["v1", "v1beta1", "v1alpha3"],
  schema: WorkloadGroupSchema,
  collection: workloadGroups,
  shape,
  specRequired: true,
  validate,
});

/** Validates a spec as Istio's `ValidateWorkloadGroup` does. */
function validate({ spec }: WorkloadGroupObject, place: Place): void {
  checkLabels(spec.metadata?.labels ?? {}, place.at("metadata", "labels"));
  if ((spec.template?.address ?? "") !== "")
    place
      .at("template", "address")
      .warning("has no effect: workloads register with their own address, expected none", "no-effect");
  if (spec.probe !== undefined) checkProbe(spec.probe, place.at("probe"));
}

function checkProbe(probe: ReadinessProbe, place: Place): void {
  for (const field of [
    "periodSeconds",
    "initialDelaySeconds",
    "timeoutSeconds",
    "successThreshold",
    "failureThreshold",
  ] as const) {
    if (probe[field] < 0) place.at(field).error(`is ${probe[field]}, expected 0 or more`);
  }
  const { healthCheckMethod: method } = probe;
  switch (method.case) {
    case "httpGet": {
      const at = place.at("httpGet");
      checkPort(method.value.port, at.at("port"));
      if (!["", "HTTP", "HTTPS"].includes(method.value.scheme))
        at.at("scheme").error(`is ${JSON.stringify(method.value.scheme)}, expected HTTP or HTTPS`);
      each(method.value.httpHeaders, at.at("httpHeaders"), ({ name }, header) => {
        if (!/^[-A-Za-z0-9]+$/.test(name))
          header.at("name").error(`is ${JSON.stringify(name)}, expected the name of a header`);
      });
      break;
    }
    case "tcpSocket":
      checkPort(method.value.port, place.at("tcpSocket", "port"));
      break;
    case "grpc":
      checkPort(method.value.port, place.at("grpc", "port"));
      break;
    case "exec":
      if (method.value.command.length === 0) place.at("exec", "command").error("is empty, expected a command");
      break;
    default:
      place.error("has no method, expected httpGet, tcpSocket, exec or grpc");
  }
}
