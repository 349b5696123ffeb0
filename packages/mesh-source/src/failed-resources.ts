import { failureMessage, type Proxy } from "@istiod/push-context";
import { type Failure, formatFailure, hasFailed, type Resource, ResourceSet, xdsShortName } from "@istiod/resources";
import { type Clock, LineBudget, shortened } from "@istiod/runtime";
import { completeResource, withLastGood } from "@istiod/xds-generators";
import type { Logger } from "pino";
import { type LastGood, type LastGoodMemory, workloadKey } from "./last-good-memory.js";

/** A resource that a proxy does not have in its present version, as in `/debug/push_status`. */
export interface FailedResource {
  readonly proxy: string;
  readonly message: string;
}

/** Objects in a line. */
const maxObjects = 10;

/**
 * The failures of one client's resources. A resource that cannot be generated keeps its last good version, and one that
 * never had one is left out; everything else of its type is served. This is state of the client: queries are pure, and
 * their results only name what failed.
 */
export class FailedResources {
  readonly #last = new Map<string, ResourceSet>();
  readonly #lastByName = new Map<string, Map<string, Resource>>();
  /** The present failures, by type and by name for lookups. */
  readonly #failures = new Map<string, readonly Failure[]>();
  readonly #log: FailureLog;
  readonly #proxy: Proxy;
  readonly #memory: LastGoodMemory;
  #workload: string | undefined;

  /** @param former the last good resources of the client's last stream, if any */
  constructor(log: FailureLog, proxy: Proxy, memory: LastGoodMemory, former: LastGood = new Map()) {
    this.#log = log;
    this.#proxy = proxy;
    this.#memory = memory;
    for (const [typeUrl, set] of former) this.#last.set(typeUrl, set);
  }

  /** Returns the resources of a type with the last good versions of those that fail. Throws if there is none. */
  set(typeUrl: string, generate: () => ResourceSet): ResourceSet {
    const last = this.#last.get(typeUrl);
    let now: ResourceSet;
    try {
      now = generate();
    } catch (error) {
      this.#note(typeUrl, typeUrl, [{ name: "", match: "start", objects: [], message: messageOf(error) }]);
      if (last === undefined) throw error;
      return last;
    }
    if (now.hasFailures || this.#failures.size > 0) this.#note(typeUrl, typeUrl, now.failures());
    const set = now.hasFailures ? this.#complete(typeUrl, now, last) : now;
    this.#last.set(typeUrl, set);
    return set;
  }

  /** Completes a set from the client's last one, or from that of another client of its workload. */
  #complete(typeUrl: string, now: ResourceSet, last: ResourceSet | undefined): ResourceSet {
    const workload = (this.#workload ??= workloadKey(this.#proxy));
    const set = withLastGood(typeUrl, now, last ?? this.#memory.shared(now, workload));
    if (set !== now) this.#memory.share(now, workload, set);
    return set;
  }

  /** Returns the last good versions of what fails now. */
  lastGood(): LastGood {
    const found = new Map<string, ResourceSet>();
    for (const [key, failures] of this.#failures) {
      const [typeUrl = ""] = key.split(" ", 1);
      const named = [...(this.#lastByName.get(typeUrl)?.values() ?? [])];
      const all = key === typeUrl ? [...(this.#last.get(typeUrl) ?? [])] : named;
      const kept = all.filter(({ name }) => failures.some((failure) => hasFailed(failure, name)));
      const others = [...(found.get(typeUrl) ?? [])].filter(({ name }) => !kept.some((each) => each.name === name));
      if (kept.length > 0) found.set(typeUrl, ResourceSet.of([...others, ...kept].map(withoutFailures)));
    }
    return found;
  }

  /** Returns a resource that is looked up by name, or its last good version; undefined if it fails and has none. */
  named(typeUrl: string, name: string, look: () => Resource | undefined): Resource | undefined {
    const key = `${typeUrl} ${name}`;
    const last = this.#lastByName.get(typeUrl)?.get(name) ?? this.#last.get(typeUrl)?.get(name);
    let now: Resource | undefined;
    try {
      now = look();
    } catch (error) {
      this.#note(key, typeUrl, [{ name, objects: [], message: messageOf(error) }]);
      return last;
    }
    if (now?.failures !== undefined || this.#failures.size > 0) this.#note(key, typeUrl, now?.failures ?? []);
    if (now === undefined) {
      this.#lastByName.get(typeUrl)?.delete(name);
      return undefined;
    }
    const found = last === undefined ? now : completeResource(typeUrl, now, last);
    this.#remember(typeUrl, found);
    return found;
  }

  /** Reports whether a resource exists and cannot be generated now. */
  isFailing(typeUrl: string, name: string): boolean {
    const isWhole = (failure: Failure): boolean => failure.part === undefined && hasFailed(failure, name);
    const failures = [this.#failures.get(typeUrl), this.#failures.get(`${typeUrl} ${name}`)];
    return failures.some((found) => found?.some(isWhole) === true);
  }

  /** Forgets a resource that is no longer looked up. */
  delete(typeUrl: string, name: string): void {
    this.#lastByName.get(typeUrl)?.delete(name);
    this.#failures.delete(`${typeUrl} ${name}`);
  }

  /** Yields what fails, by type, resource, part and objects. */
  *entries(): Generator<readonly [string, FailedResource]> {
    for (const [key, failures] of this.#failures) {
      const [typeUrl = ""] = key.split(" ", 1);
      for (const failure of failures)
        yield [
          `${xdsShortName(typeUrl)} ${formatFailure({ ...failure, message: "" })}`,
          { proxy: this.#proxy.nodeId, message: failure.message },
        ];
    }
  }

  #remember(typeUrl: string, found: Resource): void {
    let byName = this.#lastByName.get(typeUrl);
    if (byName === undefined) this.#lastByName.set(typeUrl, (byName = new Map()));
    byName.set(found.name, found);
  }

  #note(key: string, typeUrl: string, failures: readonly Failure[]): void {
    const before = this.#failures.get(key) ?? [];
    if (failures.length === 0) {
      if (before.length > 0) this.#failures.delete(key);
      return;
    }
    this.#failures.set(key, failures);
    const known = new Set(before.map(formatFailure));
    for (const failure of failures)
      if (!known.has(formatFailure(failure))) this.#log.failed(this.#proxy, typeUrl, failure);
  }
}

/** Logs failures of resources, each once for each client, within one budget of lines for all clients. */
export class FailureLog {
  readonly #log: Logger;
  readonly #lines: LineBudget;

  constructor(log: Logger, clock: Clock) {
    this.#log = log;
    this.#lines = new LineBudget(clock);
  }

  failed({ nodeId: proxy }: Proxy, type: string, failure: Failure): void {
    const more = this.#lines.take();
    if (more === undefined) return;
    const { name, match, part, objects, message } = failure;
    const pattern = match === undefined ? name : match === "start" ? `${name}*` : `*${name}`;
    this.#log.error(
      {
        proxy,
        type,
        resource: shortened(pattern, 256),
        ...(part && { part: shortened(part.name, 256) }),
        objects: objects.slice(0, maxObjects).map((object) => shortened(object, 256)),
        reason: shortened(message),
        ...more,
      },
      "generation failed, keeping the last good config",
    );
  }
}

function withoutFailures({ name, version, bytes }: Resource): Resource {
  return { name, version, bytes };
}

function messageOf(error: unknown): string {
  try {
    return failureMessage(error);
  } catch {
    return String(error);
  }
}
