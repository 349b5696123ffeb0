import { serviceEntries } from "@istiod/config-schema";
import { query } from "@istiod/incremental";
import { features } from "../settings/features.js";
import type { RouteParent } from "./parent.js";

/** The hosts of a Service or ServiceEntry; none if the ServiceEntry does not exist. */
export const meshHosts = query("gatewayApiMeshHosts", (q, { kind, namespace, name }: RouteParent): readonly string[] =>
  kind === "ServiceEntry"
    ? (q.read(serviceEntries, `${namespace}/${name}`)?.spec.hosts ?? [])
    : [`${name}.${namespace}.svc.${features.domain(q)}`],
);
