import { createHash } from "node:crypto";
import { type BareEnvoy, endpointAsker, renamed, routeAsker, startBareEnvoy, unbound } from "@istiod/e2e";
import { clusterType, endpointType, listenerType, type Resource, routeType } from "@istiod/resources";

/** A resource that Envoy rejected, with the case that it was generated for. */
export interface Rejection {
  readonly typeUrl: string;
  readonly name: string;
  readonly origin: number;
  readonly message: string;
}

interface Candidate {
  readonly resource: Resource;
  readonly name: string;
  readonly origin: number;
}

/** Offers distinct resources to a real Envoy and finds those that it rejects, by bisection. */
export class Acceptance {
  readonly #binary: string;
  #envoy: BareEnvoy;
  readonly #candidates = new Map<string, Candidate[]>();
  /** Makes each offer of the kept clusters another one, since equal ones are not sent again. */
  #offers = 0;
  readonly #kept = new Map<string, Resource>();
  readonly #seen = new Set<string>();

  private constructor(binary: string, envoy: BareEnvoy) {
    this.#binary = binary;
    this.#envoy = envoy;
  }

  static async start(binary: string): Promise<Acceptance> {
    return new Acceptance(binary, await startBareEnvoy(binary));
  }

  get extensions(): readonly string[] {
    return this.#envoy.extensions;
  }

  /** The number of distinct resources that were added. */
  get size(): number {
    return this.#seen.size;
  }

  /** Adds clusters that listeners refer to. */
  keep(clusters: readonly Resource[]): void {
    for (const cluster of clusters) this.#kept.set(cluster.name, cluster);
  }

  add(typeUrl: string, resource: Resource, origin: number): void {
    const content = `${typeUrl} ${createHash("sha256").update(resource.bytes).digest("base64")}`;
    if (this.#seen.has(content)) return;
    this.#seen.add(content);
    const candidates = this.#candidates.get(typeUrl) ?? [];
    this.#candidates.set(typeUrl, candidates);
    const name = `${this.#seen.size}~${resource.name.slice(0, 80)}`;
    const unique =
      typeUrl === listenerType ? unbound(resource, name, this.#seen.size % 65_535) : renamed(resource, name);
    candidates.push({ resource: unique, name: resource.name, origin });
  }

  /** Offers what was added since the last call. Returns the rejections. */
  async rejections(): Promise<readonly Rejection[]> {
    const found: Rejection[] = [];
    for (const typeUrl of [clusterType, endpointType, listenerType, routeType])
      found.push(...(await this.#bisect(typeUrl, this.#candidates.get(typeUrl) ?? [])));
    this.#candidates.clear();
    return found;
  }

  close(): Promise<void> {
    return this.#envoy.close();
  }

  async #bisect(typeUrl: string, candidates: readonly Candidate[]): Promise<readonly Rejection[]> {
    const [first] = candidates;
    if (first === undefined) return [];
    const message = await this.#offer(typeUrl, candidates);
    if (message === undefined) return [];
    if (candidates.length === 1) return [{ typeUrl, name: first.name, origin: first.origin, message }];
    const half = candidates.length >> 1;
    return [
      ...(await this.#bisect(typeUrl, this.#renewed(candidates.slice(0, half)))),
      ...(await this.#bisect(typeUrl, this.#renewed(candidates.slice(half)))),
    ];
  }

  /** Returns candidates under other names, since the server does not send a resource again that was rejected. */
  #renewed(candidates: readonly Candidate[]): readonly Candidate[] {
    const prefix = `${++this.#offers}.`;
    return candidates.map(({ resource, ...rest }) => ({
      ...rest,
      resource: renamed(resource, prefix + resource.name),
    }));
  }

  /** Returns the message of a rejection, or that Envoy has ended; undefined if everything is accepted. */
  async #offer(typeUrl: string, candidates: readonly Candidate[]): Promise<string | undefined> {
    const resources = candidates.map(({ resource }) => resource);
    try {
      if (typeUrl === endpointType)
        await this.#envoy.offer(
          clusterType,
          resources.map(({ name }) => endpointAsker(name)),
        );
      if (typeUrl === listenerType)
        await this.#envoy.offer(clusterType, [...this.#kept.values(), endpointAsker(`offer ${++this.#offers}`)]);
      if (typeUrl === routeType)
        await this.#envoy.offer(
          listenerType,
          resources.map(({ name }, n) => routeAsker(name, n + 1)),
        );
      const [refusal] = await this.#envoy.offer(typeUrl, resources);
      return refusal?.message;
    } catch (error) {
      await this.#envoy.close();
      this.#envoy = await startBareEnvoy(this.#binary);
      return `Envoy failed: ${error instanceof Error ? error.message : String(error)}`;
    }
  }
}
