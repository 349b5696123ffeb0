import { controllers as gatewayApiControllers, type StatusKind, statusKinds } from "@istiod/gateway-api";
import { collection, type Collection, query } from "@istiod/incremental";
import type { KubernetesObject, ResourceType } from "@istiod/kubernetes";
import type { Controller, Observed, Watch } from "../controller/controller.js";
import { pluralOf } from "../controller/plural.js";
import type { Write } from "../controller/write.js";
import { discovery, type Scope } from "../inputs/discovery.js";
import { revisionTags } from "../inputs/revision-tags.js";
import type { ComputedStatus, StatusChanges } from "./desired-statuses.js";
import { type ObservedStatus, statusChange } from "./merge-status.js";

export interface GatewayStatusOptions extends Scope {
  /** Revision of this istiod. */
  readonly revision: string;
  /** Namespace of istiod. */
  readonly systemNamespace: string;
  /** Name of the controller, as entries of statuses have it (`PILOT_GATEWAY_API_CONTROLLER_NAME`). */
  readonly controllerName: string;
  /** The statuses, as the mesh determines them. */
  readonly statuses: { follow(changed: (changes: StatusChanges) => void): () => void };
  /** Maximum number of writes in flight (`PILOT_STATUS_MAX_WORKERS`). Default: 100. */
  readonly concurrency?: number;
}

interface Entry {
  readonly kind: StatusKind;
  readonly type: ResourceType;
  readonly desired: Collection<ComputedStatus>;
  readonly observed: Collection<Observed<ObservedObject>>;
}

interface ObservedObject {
  readonly revision: string | undefined;
  readonly generation: number;
  readonly status: ObservedStatus;
}

/**
 * Returns the controller of the statuses of the Gateway API's objects. Conditions and entries of other controllers are
 * left alone. A status that was computed from another generation than the observed one is not written. Source:
 * pilot/pkg/status.
 */
export function gatewayStatusController(options: GatewayStatusOptions): Controller {
  const { revision, systemNamespace, statuses, controllerName, namespace } = options;
  const discovered = discovery(options);
  const tags = revisionTags({ revision, systemNamespace, discovered });
  const controllers = new Set([controllerName, gatewayApiControllers.waypoint]);
  const entries = new Map(statusKinds.map((kind): [string, Entry] => [kind.kind.kind, entryOf(kind)]));
  const targets = query("gatewayApiObjects", (q): readonly string[] =>
    [...entries].flatMap(([name, { desired }]) => [...q.keys(desired)].map((key) => `${name}/${key}`)),
  );
  const write = query("gatewayApiStatus", (q, target: string): Write | undefined => {
    const at = target.indexOf("/");
    const key = target.slice(at + 1);
    const entry = entries.get(target.slice(0, at));
    const computed = entry && q.read(entry.desired, key);
    const object = entry && q.read(entry.observed, key);
    if (entry === undefined || computed === undefined || object === undefined) return undefined;
    const [name = "", in_ = ""] = key.split("/").reverse();
    if (object.value.generation !== computed.generation) return undefined;
    if (!q.call(tags.isMine, { namespace: in_, revision: object.value.revision })) return undefined;
    const merging = {
      generation: computed.generation,
      namespace: in_,
      controllers,
      mostEntries: entry.kind.mostEntries,
    };
    const status = statusChange(object.value.status, computed.status, merging);
    const { resourceVersion } = object;
    return (
      status && {
        action: "merge",
        type: entry.type,
        name: in_ === "" ? { name } : { namespace: in_, name },
        subresource: "status",
        base: resourceVersion,
        fields: { metadata: { resourceVersion }, status },
        stampsTransitions: true,
        // Definitions of earlier releases have fewer fields.
        fieldValidation: "Ignore",
      }
    );
  });
  return {
    name: "gateway status writer",
    fieldManager: controllerName,
    concurrency: options.concurrency ?? 100,
    watches: [discovered.watch, ...tags.watches, ...[...entries.values()].map((entry) => watchOf(entry, namespace))],
    inputs: (database) => {
      const ends = [
        discovered.inputs(database),
        statuses.follow((changes) =>
          database.commit((tx) => {
            for (const [{ kind }, computed] of changes) {
              const desired = entries.get(kind.kind)?.desired;
              if (desired === undefined) continue;
              for (const [key, status] of computed)
                if (status === undefined) tx.delete(desired, key);
                else tx.set(desired, key, status);
            }
          }),
        ),
      ];
      return () => ends.forEach((end) => end());
    },
    targets,
    write,
  };
}

function entryOf(kind: StatusKind): Entry {
  const { group, kind: name, scope, versions } = kind.kind;
  const [version = "v1"] = versions;
  return {
    kind,
    type: { group, version, kind: name, plural: pluralOf(name), namespaced: scope === "namespaced" },
    desired: collection<ComputedStatus>(`Desired${name}`),
    observed: collection<Observed<ObservedObject>>(name),
  };
}

function watchOf({ type, observed }: Entry, namespace: string | undefined): Watch {
  const watch: Watch<ObservedObject> = {
    type,
    collection: observed,
    ...(namespace !== undefined && type.namespaced && { namespace }),
    fields: { metadata: { labels: true, generation: true }, status: true },
    select: observe,
  };
  return watch as Watch;
}

function observe({ metadata, ...object }: KubernetesObject): ObservedObject {
  return {
    revision: metadata?.labels?.["istio.io/rev"],
    generation: metadata?.generation ?? 0,
    status: (object as { readonly status?: ObservedStatus }).status ?? {},
  };
}
