import type { QueryContext } from "@istiod/incremental";
import type { Service } from "@istiod/service-discovery";
import { scopedService, type ScopedService } from "./scoped-service.js";

/**
 * Collects services by host, merging ports of services with the same host if they are compatible
 * (pilot/pkg/model/sidecar.go, appendSidecarServices).
 */
export class ServicesByHost {
  readonly #byHost = new Map<string, ScopedService>();

  readonly #q: QueryContext;

  constructor(q: QueryContext) {
    this.#q = q;
  }

  get list(): readonly ScopedService[] {
    return [...this.#byHost.values()];
  }

  add(scoped: ScopedService): void {
    const existing = this.#byHost.get(scoped.hostname);
    const replacement = existing === undefined ? scoped : this.#merge(existing, scoped);
    if (replacement !== existing) {
      this.#byHost.set(scoped.hostname, replacement);
    }
  }

  #merge(existing: ScopedService, scoped: ScopedService): ScopedService {
    if (existing.service === scoped.service && existing.ports === undefined) {
      return existing;
    }
    const [a, b] = [this.#q.call(scopedService, existing), this.#q.call(scopedService, scoped)];
    if (a === undefined || b === undefined || (a.registry === "Kubernetes" && b.registry !== "Kubernetes")) {
      return existing;
    }
    if (a.registry !== "Kubernetes" && b.registry === "Kubernetes") {
      return scoped;
    }
    const missing = [
      ...new Set(
        b.ports.filter((port) => !a.ports.some((own) => own.number === port.number)).map((port) => port.number),
      ),
    ];
    if (missing.length === 0 || mergeObstacles(a, b).length > 0) {
      return existing;
    }
    if (existing.service === scoped.service && existing.added === undefined) {
      return { ...existing, ports: [...(existing.ports ?? []), ...missing] };
    }
    return {
      ...existing,
      added: [...(existing.added ?? []), ...missing.map((port) => ({ service: scoped.service, port }))],
    };
  }
}

/** Returns the properties in which two services of a host differ, so that their ports are not merged. */
export function mergeObstacles(a: Service, b: Service): readonly string[] {
  const same = (x: unknown, y: unknown): boolean => JSON.stringify(x) === JSON.stringify(y);
  const equal: Readonly<Record<string, boolean>> = {
    namespace: a.namespace === b.namespace,
    resolution: a.resolution === b.resolution,
    labels: same(sorted(a.labels), sorted(b.labels)),
    selector: same(sorted(a.selector), sorted(b.selector)),
    exportTo: same([...a.exportTo].sort(), [...b.exportTo].sort()),
  };
  return Object.keys(equal).filter((name) => equal[name] !== true);
}

function sorted(labels: Readonly<Record<string, string>> = {}): readonly (readonly [string, string])[] {
  return Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
}
