import {
  configCluster,
  configMaps,
  type LocalReference,
  secrets,
  serviceEntries,
  services,
} from "@istiod/config-schema";
import type { QueryContext } from "@istiod/incremental";
import { features } from "../settings/features.js";

/** A port of a backend. */
export interface BackendPort {
  readonly name: string;
  readonly number: number;
}

/** An object that policies of backends apply to. */
export interface PolicyTarget {
  readonly kind: "Service" | "ServiceEntry" | "XBackend";
  readonly namespace: string;
  readonly name: string;
}

/** A target that exists. */
export interface FoundTarget {
  readonly target: PolicyTarget;
  readonly hosts: readonly string[];
  readonly ports: readonly BackendPort[];
}

/** Returns the Service or ServiceEntry that a policy refers to, or the reason for which there is none. */
export function policyTarget(
  q: QueryContext,
  { group, kind, name }: LocalReference,
  namespace: string,
): FoundTarget | { readonly fault: string } {
  const id = `${group}/${kind}`;
  const inCluster = `${configCluster(q)}/${namespace}/${name}`;
  const notFound = { fault: `reference ${namespace}/${name} (of kind ${kind}) not found` };
  const unsupported = { fault: `unsupported reference kind: ${kind}` };
  switch (id) {
    case "/Service": {
      const service = q.read(services, inCluster);
      if (service === undefined) return notFound;
      return {
        target: { kind, namespace, name },
        hosts: [`${name}.${namespace}.svc.${features.domain(q)}`],
        ports: service.spec.ports.map((port) => ({ name: port.name, number: port.port })),
      } as FoundTarget;
    }
    case "networking.istio.io/ServiceEntry": {
      const entry = q.read(serviceEntries, `${namespace}/${name}`);
      if (entry === undefined) return notFound;
      return {
        target: { kind, namespace, name },
        hosts: entry.spec.hosts,
        ports: entry.spec.ports.map((port) => ({ name: port.name, number: port.number })),
      } as FoundTarget;
    }
    case "/ConfigMap":
      return q.read(configMaps, inCluster) === undefined ? notFound : unsupported;
    case "/Secret":
      return q.read(secrets, inCluster) === undefined ? notFound : unsupported;
    default:
      return { fault: `unsupported kind ${kind}` };
  }
}

/** Reports whether an object is not served as a policy, because its annotation says so. */
export function isIgnoredPolicy({ annotations }: { readonly annotations: Readonly<Record<string, string>> }): boolean {
  return annotations[ignoreAnnotation]?.toLowerCase() === "true";
}

export const ignoreAnnotation = "istio.io/ignore-policy-attachment";
