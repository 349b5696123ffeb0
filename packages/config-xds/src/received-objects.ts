import { hash } from "node:crypto";
import { Ledger, type Location, type RejectedPolicy } from "@istiod/config-ingestion";
import type { DecodeOptions, Kind, ObjectChange, OtherRevisionChange, Problem } from "@istiod/config-schema";
import { type ConfigType, configTypeUrl } from "./config-type.js";
import { ConfigResourceError, decodeConfig } from "./decode-config.js";
import { isSynthetic, markSynthetic } from "./received-service-entry.js";

/** A resource of a response: the bytes of an `istio.mcp.v1alpha1.Resource`. */
export interface ReceivedResource {
  /** Type URL of the message. */
  readonly messageType: string;
  readonly bytes: Uint8Array;
}

/**
 * The objects that a server sent last, by type. A rejected object keeps its last good version, and policies that have
 * none fail closed, as those of files do.
 */
export class ReceivedObjects {
  readonly #server: string;
  readonly #ledger: Ledger;
  /** Digests of the resources by file, for each type. */
  readonly #digests = new Map<string, ReadonlyMap<string, string>>();
  readonly #problems = new Map<string, readonly Problem[]>();

  /** @param server URL of the server, for messages */
  constructor(server: string, options: DecodeOptions) {
    this.#server = server;
    this.#ledger = new Ledger(options);
  }

  /** Takes all objects of a type. Objects that are missing are removed, unless a resource has no readable name. */
  replace(type: ConfigType, resources: readonly ReceivedResource[]): void {
    const typeUrl = configTypeUrl(type);
    const before = this.#digests.get(typeUrl) ?? new Map<string, string>();
    const after = new Map<string, string>();
    const problems: Problem[] = [];
    let isComplete = true;
    for (const resource of resources) {
      try {
        this.#take(type, resource, before, after);
      } catch (error) {
        if (!(error instanceof ConfigResourceError)) throw error;
        problems.push({
          severity: "error",
          file: `${this.#server}/${typeUrl}`,
          line: 0,
          path: [],
          message: error.message,
        });
        if (error.identity === undefined) isComplete = false;
        else this.#reject(type, error.identity, before, after);
      }
    }
    for (const [file, digest] of before) {
      if (after.has(file)) continue;
      if (isComplete) this.#ledger.removeFile(file);
      else after.set(file, digest);
    }
    this.#digests.set(typeUrl, after);
    this.#problems.set(typeUrl, problems);
  }

  /** Returns the objects that became active, were removed, or belong to another revision, since the last call. */
  takeChanges(): readonly (ObjectChange | OtherRevisionChange)[] {
    return this.#ledger.takeChanges();
  }

  /** Returns all current problems. */
  problems(): readonly Problem[] {
    return [...[...this.#problems.values()].flat(), ...this.#ledger.problems()];
  }

  /** Returns the rejected objects of kinds that restrict, with what applies instead. */
  rejectedPolicies(): readonly RejectedPolicy[] {
    return this.#ledger.rejectedPolicies();
  }

  /** Returns the place that defines an active object. */
  locate(kind: Kind, key: string): Location | undefined {
    return this.#ledger.locate(kind, key);
  }

  #take(
    type: ConfigType,
    { messageType, bytes }: ReceivedResource,
    before: ReadonlyMap<string, string>,
    after: Map<string, string>,
  ): void {
    const { document, identity } = decodeConfig(type, bytes, messageType);
    const file = this.#fileOf(type, identity);
    const digest = hash("sha1", bytes, "base64");
    const received = isSynthetic(type, identity) ? markSynthetic(document) : document;
    if (before.get(file) !== digest) this.#ledger.replaceFile(file, JSON.stringify(received));
    after.set(file, digest);
  }

  /** Records an object without a readable spec, which the ledger rejects like any other. */
  #reject(
    type: ConfigType,
    identity: { readonly namespace: string; readonly name: string },
    before: ReadonlyMap<string, string>,
    after: Map<string, string>,
  ): void {
    const file = this.#fileOf(type, identity);
    const unreadable = "unreadable";
    if (before.get(file) !== unreadable) {
      const { kind, version } = type;
      const document = {
        apiVersion: `${kind.group}/${version}`,
        kind: kind.kind,
        metadata: identity,
        spec: unreadable,
      };
      this.#ledger.replaceFile(file, JSON.stringify(document));
    }
    after.set(file, unreadable);
  }

  #fileOf(type: ConfigType, { namespace, name }: { readonly namespace: string; readonly name: string }): string {
    return `${this.#server}/${configTypeUrl(type)}/${namespace}/${name}`;
  }
}
