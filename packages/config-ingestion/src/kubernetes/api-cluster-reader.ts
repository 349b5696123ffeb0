import { unsupportedDefinition, type UnsupportedDefinition } from "@istiod/config-schema";
import {
  type ApiClient,
  type KubernetesObject,
  type NamedDefinition,
  Reflector,
  resourcePath,
  type ResourceType,
  ServedTypes,
  type TypeAvailability,
} from "@istiod/kubernetes";
import type { Clock } from "@istiod/runtime";
import type { ClusterReader } from "./cluster-reader.js";

export interface ClusterReaderOptions {
  readonly clock?: Clock;
  /** Receives the types that the server serves. Default: none does. */
  readonly availability?: TypeAvailability;
  /** Receives failed attempts to follow objects. Default: states tell them. */
  readonly onError?: (error: unknown) => void;
  /**
   * Receives CustomResourceDefinitions whose objects are not read, because they are of an old release: once for each
   * release, and again after a deletion.
   */
  readonly onUnsupported?: (name: string, unsupported: UnsupportedDefinition) => void;
}

/** Milliseconds in which the server must answer a list. */
const listTimeoutMs = 5000;

/** Returns the reader of a cluster by a client of its API server, with a reflector for each type. */
export function clusterReader(client: ApiClient, options: ClusterReaderOptions = {}): ClusterReader {
  /** Definitions whose types are not read, by name. */
  const unread = new Map<string, { readonly id: string; readonly reason: string }>();
  return {
    reasonUnread: (kind) => [...unread.values()].find(({ id }) => id === idOf(kind))?.reason,
    followServed(handler) {
      const ignores = ({ name, annotations, type }: NamedDefinition): boolean => {
        const unsupported = unsupportedDefinition(name, annotations);
        if (unsupported === undefined) {
          unread.delete(name);
          return false;
        }
        const reason = formatUnsupported(name, unsupported);
        const isKnown = unread.get(name)?.reason === reason;
        unread.set(name, { id: idOf(type), reason });
        if (!isKnown) options.onUnsupported?.(name, unsupported);
        return true;
      };
      const types = new ServedTypes({
        client,
        handler: {
          ...handler,
          served: (...served) => {
            options.availability?.update(...served);
            handler.served(...served);
          },
        },
        ignores,
        deleted: (name) => unread.delete(name),
        ...(options.clock && { clock: options.clock }),
      });
      types.start();
      return () => types.stop();
    },
    watch({ fields, ...target }, handler) {
      const reflector = new Reflector({ ...options, ...target, client, fields: { fields }, handler });
      reflector.start();
      return () => reflector.stop();
    },
    async list({ resource, namespace, fieldSelector }) {
      const { items } = await client.json<{ readonly items: readonly KubernetesObject[] }>({
        path: resourcePath(resource, namespace === undefined ? {} : { namespace }),
        query: { fieldSelector },
        timeoutMs: listTimeoutMs,
      });
      return items.map((object) => {
        const { namespace: of = "", name = "", uid = "", resourceVersion = "" } = object.metadata ?? {};
        return { namespace: of, name, uid, resourceVersion, object: { ...object } };
      });
    },
  };
}

const idOf = ({ group, kind }: Pick<ResourceType, "group" | "kind">): string => `${group}/${kind}`;

/** Formats why the objects of a CustomResourceDefinition are not read, as a clause. */
export function formatUnsupported(name: string, { release, minimum }: UnsupportedDefinition): string {
  const version = release === "" ? "no version" : `version ${release}`;
  return `CRD ${name} has ${version} of the Gateway API, below the minimum version ${minimum}`;
}
