import {
  type ConfigObject,
  formatPath,
  istioKinds,
  type Kind,
  podKind,
  serviceKind,
  workloadKinds,
} from "@istiod/config-schema";
import { type Clock, monotonicClock } from "@istiod/runtime";
import { type Finding, formatOrigin, levelOf } from "./finding.js";
import type { LiveAnalysis } from "./live-analysis.js";
import { isAtLeast } from "./messages/message.js";

/** A valid object that is about to be stored. */
export interface WrittenObject {
  readonly kind: Kind;
  /** Key of the object in the collection of its kind. */
  readonly key: string;
  readonly object: ConfigObject<unknown, unknown>;
}

export interface AddedWarningsOptions {
  readonly analysis: Pick<LiveAnalysis<never>, "findingsAddedBy">;
  /** Revision of this control plane. Istio's objects of others are not read. */
  readonly revision: string;
  /** Receives failures of the analysis. The object has no further warnings then. */
  readonly onError: (error: unknown) => void;
  readonly clock?: Pick<Clock, "now">;
}

/** Milliseconds for the analysis of one object, including the time that it waits for others. */
const limitMs = 100;
/** Milliseconds without a turn of the event loop after which writes of a kind count as too costly. */
const maxTurnMs = 40;
/** Milliseconds for which a kind whose analysis was too costly is not analyzed again. */
const restMs = 10_000;
/** Milliseconds of work that are available after a pause. */
const burstMs = 2000;
/** Share of the time that may be spent on the analysis of many objects. */
const share = 0.2;
const maxListed = 20;
/** Code of findings of what the object alone shows, which validation says in other words. */
const saidByValidation = "IST0133";
const unknownNamespace = "MESH0004";
/** A Service without workloads, which are mostly created after it. */
const withoutWorkloads = "MESH0009";
/** Kinds of Pods. They come and go, so that only the findings about themselves are of interest. */
const podKinds: ReadonlySet<Kind> = new Set([podKind, ...workloadKinds]);

/**
 * Returns the warnings about findings that an object adds to those of the mesh, about itself and about other objects.
 * Objects are analyzed one after the other, in slices; where that takes too long, there are fewer warnings, or none.
 */
export function addedWarnings({
  analysis,
  revision,
  onError,
  clock = monotonicClock,
}: AddedWarningsOptions): (written: WrittenObject, known: readonly string[]) => Promise<readonly string[]> {
  let last: Promise<unknown> = Promise.resolve();
  const budget = new Budget(clock);
  const analyze = async ({ kind, key, object }: WrittenObject, deadline: number): Promise<readonly Finding[]> => {
    const withinMs = deadline - clock.now();
    if (withinMs <= 0 || !budget.allows(kind)) return [];
    const write = { collection: kind.collection, key, object, ...(podKinds.has(kind) && { isAlone: true as const }) };
    const added = await analysis.findingsAddedBy(write, withinMs);
    if (added !== undefined) budget.spend(kind, added);
    return added?.findings ?? [];
  };
  return async (written, known) => {
    const { kind, object } = written;
    if (istioKinds.includes(kind) && (object.labels["istio.io/rev"] ?? revision) !== revision) return [];
    const deadline = clock.now() + limitMs;
    const result = last.then(() => analyze(written, deadline));
    last = result.catch(onError);
    return listed(written, await result, new Set(known));
  };
}

/** The time that the analysis of written objects may take. */
class Budget {
  readonly #clock: Pick<Clock, "now">;
  readonly #restsUntil = new Map<Kind, number>();
  #leftMs = burstMs;
  #at: number;

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
    this.#at = clock.now();
  }

  allows(kind: Kind): boolean {
    const now = this.#clock.now();
    this.#leftMs = Math.min(burstMs, this.#leftMs + (now - this.#at) * share);
    this.#at = now;
    return this.#leftMs > 0 && now >= (this.#restsUntil.get(kind) ?? -Infinity);
  }

  spend(kind: Kind, { workMs, longestMs }: { readonly workMs: number; readonly longestMs: number }): void {
    this.#leftMs -= workMs;
    if (longestMs > maxTurnMs) this.#restsUntil.set(kind, this.#clock.now() + restMs);
  }
}

function listed(
  { kind, key }: WrittenObject,
  findings: readonly Finding[],
  known: ReadonlySet<string>,
): readonly string[] {
  const isOwn = ({ origin }: Finding): boolean =>
    origin.kind === kind.kind && origin.group === kind.group && origin.key === key;
  const isExpected = ({ code, path }: Finding): boolean =>
    code === saidByValidation ||
    (kind === serviceKind && code === withoutWorkloads) ||
    // The API server has the namespace of an object that it reviews, also where istiod has not read it yet.
    (code === unknownNamespace && path[0] === "metadata" && path[1] === "namespace");
  const isShown = (finding: Finding): boolean =>
    isAtLeast(levelOf(finding), "Warning") && !(isOwn(finding) && isExpected(finding));
  const texts = findings
    .filter(isShown)
    .map((finding) => ({ ...finding, text: describe(finding, isOwn(finding)) }))
    .filter(({ text, message }) => !known.has(text) && !known.has(message));
  const shown = texts.slice(0, maxListed).map(({ code, text }) => `${text} [${code}]`);
  return texts.length > maxListed ? [...shown, `and ${texts.length - maxListed} more: run istiod analyze`] : shown;
}

function describe(finding: Finding, isOwn: boolean): string {
  const field = formatPath(finding.path);
  const parts = [isOwn ? "" : formatOrigin(finding.origin), field, finding.message];
  return parts.filter((part) => part !== "").join(": ");
}
