import { abortableDelay, Backoff, type Clock, monotonicClock } from "@istiod/runtime";
import { ApiError } from "../api-error.js";
import type { ApiClient } from "../client/api-client.js";
import { Reflector } from "../reflector/reflector.js";
import type { ReflectorEvent, ReflectorState } from "../reflector/reflector-event.js";
import { apiVersionOf, type ResourceType } from "../resource-type.js";
import {
  type CustomResourceDefinition,
  customResourceDefinitions,
  definitionFields,
  typesOfDefinition,
} from "./custom-types.js";
import { readTypes } from "./read-types.js";

export interface ServedTypesHandler {
  /**
   * Called with all types that the server serves, at first and whenever they change. `unknown` are the API versions,
   * such as `discovery.k8s.io/v1`, whose types could not be read so far: they may be served.
   */
  served(types: readonly ResourceType[], unknown: ReadonlySet<string>): void;
  /** Called when the types cannot be read. The attempts continue, and the types stay as they were. */
  failed(error: ApiError): void;
}

/** A CustomResourceDefinition by its names. */
export interface NamedDefinition {
  /** `plural.group`. */
  readonly name: string;
  readonly annotations: Readonly<Record<string, string>>;
  /** The type that it defines. */
  readonly type: Pick<ResourceType, "group" | "kind">;
}

export interface ServedTypesOptions {
  readonly client: ApiClient;
  readonly handler: ServedTypesHandler;
  /** Default: the clock of the process. */
  readonly clock?: Clock;
  /** Returns a number from 0 to 1, for jitter. Default `Math.random`. */
  readonly random?: () => number;
  /**
   * Reports whether the types of a CustomResourceDefinition are treated as not served. Called for each version of the
   * definition. Default: none are.
   */
  readonly ignores?: (definition: NamedDefinition) => boolean;
  /** Receives the names of CustomResourceDefinitions that are deleted. */
  readonly deleted?: (name: string) => void;
  /** Milliseconds between readings of types that are no custom resources. Default 600,000. */
  readonly refreshMs?: number;
}

/** Milliseconds between readings if the CustomResourceDefinitions may not be watched. */
const pollMs = 30_000;

/**
 * Follows which types a server serves. A custom type begins when its CustomResourceDefinition is established, and ends
 * when that is deleted; a reading of discovery that fails, in whole or for one API version, ends none.
 */
export class ServedTypes {
  readonly #options: ServedTypesOptions;
  readonly #clock: Clock;
  readonly #backoff: Backoff;
  readonly #stopping = new AbortController();
  readonly #definitions: Reflector<CustomResourceDefinition>;
  /** Types by definition. */
  readonly #custom = new Map<string, readonly ResourceType[]>();
  /** Names of the definitions that exist or existed: `plural.group`. Discovery may be late to drop their types. */
  readonly #customNames = new Set<string>();
  #discovered: ReadonlyMap<string, readonly ResourceType[]> | undefined;
  /** API versions that no reading has told the types of. */
  #unknown: ReadonlySet<string> = new Set();
  /** Undefined: the definitions are not read yet. */
  #canWatchDefinitions: boolean | undefined;
  #reported: string | undefined;

  constructor(options: ServedTypesOptions) {
    this.#options = options;
    this.#clock = options.clock ?? monotonicClock;
    this.#backoff = new Backoff(options.random && { random: options.random });
    this.#definitions = new Reflector<CustomResourceDefinition>({
      client: options.client,
      resource: customResourceDefinitions,
      fields: { fields: definitionFields },
      clock: this.#clock,
      ...(options.random && { random: options.random }),
      handler: { events: (events) => this.#onDefinitions(events), state: (state) => this.#onState(state) },
    });
  }

  start(): void {
    this.#definitions.start();
    void this.#run();
  }

  /** Stops at once. The handler is not called again. */
  stop(): void {
    this.#stopping.abort();
    this.#definitions.stop();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await abortableDelay(this.#clock, await this.#read(signal), this.#stopping.signal);
    }
  }

  /** Reads discovery. Returns the milliseconds until the next reading. */
  async #read(signal: AbortSignal): Promise<number> {
    try {
      const { byVersion, unknown } = await readTypes(this.#options.client, signal);
      if (signal.aborted) return 0;
      const kept = [...(this.#discovered ?? [])].filter(([version]) => unknown.has(version) && !byVersion.has(version));
      this.#discovered = new Map([...byVersion, ...kept]);
      const discovered = this.#discovered;
      this.#unknown = new Set([...unknown].filter((version) => !discovered.has(version)));
      this.#report();
      if (unknown.size > 0) return this.#backoff.next();
      this.#backoff.reset();
      const { refreshMs = 600_000 } = this.#options;
      return this.#canWatchDefinitions === false ? Math.min(pollMs, refreshMs) : refreshMs;
    } catch (error) {
      if (signal.aborted) return 0;
      const failure = error instanceof ApiError ? error : new ApiError("malformed", String(error), { cause: error });
      this.#options.handler.failed(failure);
      return this.#backoff.next(failure.retryAfterMs);
    }
  }

  #onDefinitions(events: readonly ReflectorEvent<CustomResourceDefinition>[]): void {
    for (const event of events) {
      this.#customNames.add(event.name);
      const ignores = this.#options.ignores ?? (() => false);
      if (event.type === "set" && ignores(named(event.name, event.object))) this.#custom.set(event.name, []);
      else if (event.type === "set") this.#custom.set(event.name, typesOfDefinition(event.object));
      else {
        this.#custom.delete(event.name);
        this.#options.deleted?.(event.name);
      }
    }
    if (this.#canWatchDefinitions !== undefined) this.#report();
  }

  #onState({ phase }: ReflectorState): void {
    if (phase === "synced") this.#canWatchDefinitions = true;
    // Without the definitions, discovery alone tells the types.
    else if (phase === "forbidden" || phase === "not-served") this.#canWatchDefinitions ??= false;
    this.#report();
  }

  /** Reports the types if they are known and differ from those that were reported last. */
  #report(): void {
    if (this.#stopping.signal.aborted || this.#discovered === undefined) return;
    if (this.#canWatchDefinitions === undefined) return;
    const isCustom = ({ plural, group }: ResourceType): boolean => this.#customNames.has(`${plural}.${group}`);
    const types = [
      ...[...this.#discovered.values()].flat().filter((type) => !isCustom(type)),
      ...[...this.#custom.values()].flat(),
    ];
    const id = types
      .map((type) => `${apiVersionOf(type)}/${type.plural}`)
      .concat([...this.#unknown].map((version) => `${version}/?`))
      .sort()
      .join();
    if (id === this.#reported) return;
    this.#reported = id;
    this.#options.handler.served(types, this.#unknown);
  }
}

function named(name: string, { metadata, spec }: CustomResourceDefinition): NamedDefinition {
  const { group = "", names } = spec ?? {};
  return { name, annotations: metadata?.annotations ?? {}, type: { group, kind: names?.kind ?? "" } };
}
