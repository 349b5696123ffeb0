import { systemNamespaces, withShortQuotes } from "@istiod/config-schema";
import {
  type Collection,
  CycleError,
  type Database,
  query,
  type Query,
  type QueryContext,
  type View,
} from "@istiod/incremental";
import { reasonOf } from "@istiod/runtime";
import type { AnalyzedKind, Analyzer, Rule } from "./analyzer.js";
import { analyzers, analyzersNamed } from "./analyzers.js";
import type { Finding, Origin } from "./finding.js";
import { byProfile, namespacesWithPods, profilesIn } from "./queries/pods.js";
import { namespacesWithWorkloads, workloadIndexes } from "./queries/workloads.js";

interface BoundRule {
  readonly analyzer: Analyzer;
  readonly rule: Rule;
}

interface FindingsOfKind {
  readonly kind: AnalyzedKind;
  readonly ofObject: Query<string, readonly Finding[]>;
  /** The findings of one rule each about an object. */
  readonly ofRules: readonly Query<string, readonly Finding[]>[];
  readonly ofAll: Query<void, readonly Finding[]>;
}

/**
 * Declares the queries for the findings about one kind: one query per object, so that a change only reanalyzes the
 * objects whose analyzers read it, and one that concatenates the results in order of keys.
 */
function findingsOfKind(kind: AnalyzedKind, rules: readonly BoundRule[]): FindingsOfKind {
  const ofObject = query(`findings of ${kind.kind}`, (q, key: string): readonly Finding[] => {
    const object = q.read(kind.collection, key);
    return object === undefined ? [] : rules.flatMap((bound) => apply(q, key, object, bound));
  });
  const ofAll = query(`findings of every ${kind.kind}`, (q) =>
    q.keys(kind.collection).flatMap((key) => q.call(ofObject, key)),
  );
  const ofRules = rules.map((bound, i) =>
    query(`findings of ${kind.kind} by rule ${i}`, (q, key: string): readonly Finding[] => {
      const object = q.read(kind.collection, key);
      return object === undefined ? [] : apply(q, key, object, bound);
    }),
  );
  return { kind, ofObject, ofRules, ofAll };
}

function apply(q: QueryContext, key: string, object: unknown, { analyzer, rule }: BoundRule): readonly Finding[] {
  const { namespace, name } = rule.nameOf(object);
  const { group, kind } = rule.kind;
  if (systemNamespaces.has(kind === "Namespace" ? name : namespace)) return [];
  const origin: Origin = { group, kind, namespace, name, key };
  const found: Finding[] = [];
  try {
    rule.analyze(object, {
      q,
      key,
      report: (code, path, message, level) =>
        void found.push({
          code,
          ...(level && { level }),
          analyzer: analyzer.name,
          origin,
          path,
          message: withShortQuotes(message),
        }),
    });
  } catch (error) {
    if (error instanceof CycleError) throw error;
    const message = `${analyzer.name} failed: ${reasonOf(error)}`;
    found.push({ code: "IST0001", analyzer: analyzer.name, origin, path: [], message });
  }
  return distinct(found);
}

function distinct(found: readonly Finding[]): readonly Finding[] {
  const seen = new Set<string>();
  return found.filter(({ code, path, message }) => {
    const identity = JSON.stringify([code, path, message]);
    return seen.has(identity) ? false : (seen.add(identity), true);
  });
}

function byKind(of: readonly Analyzer[]): readonly (readonly [AnalyzedKind, readonly BoundRule[]])[] {
  const kinds = new Map<number, readonly [AnalyzedKind, BoundRule[]]>();
  for (const analyzer of of) {
    for (const rule of analyzer.rules) {
      const { id } = rule.kind.collection;
      const known = kinds.get(id);
      if (known === undefined) kinds.set(id, [rule.kind, [{ analyzer, rule }]]);
      else known[1].push({ analyzer, rule });
    }
  }
  return [...kinds.values()];
}

function findingsByKind(of: readonly Analyzer[]): readonly FindingsOfKind[] {
  return byKind(of).map(([kind, rules]) => findingsOfKind(kind, rules));
}

/**
 * Declares a query for the findings about several kinds, by kind and in order of keys. It is the same for all clients.
 */
function concatenated(kinds: readonly FindingsOfKind[]): Query<void, readonly Finding[]> {
  return query("findings", (q) => kinds.flatMap(({ ofAll }) => q.call(ofAll)));
}

const kinds = findingsByKind(analyzers.filter(({ onRequest }) => onRequest !== true));

/** The findings of all analyzers except those that run only on request. */
export const findings = concatenated(kinds);

/**
 * Returns a query for the findings of the named analyzers.
 *
 * @throws Error that names an analyzer that does not exist.
 */
export function findingsOf(names: readonly string[]): Query<void, readonly Finding[]> {
  return concatenated(findingsByKind(analyzersNamed(names)));
}

/** By group and kind the collection of the objects, which is declared before that of objects of other revisions. */
const collections = new Map(
  [...byKind(analyzers)].reverse().map(([kind]) => [`${kind.group}/${kind.kind}`, kind.collection]),
);

/** Returns the collection of the object that a finding is about. */
export function collectionOf({ origin }: Finding): Collection<unknown> | undefined {
  return collections.get(`${origin.group}/${origin.kind}`);
}

/** The findings about one object. */
export interface ObjectFindings {
  readonly collection: Collection<unknown>;
  readonly key: string;
  readonly query: Query<string, readonly Finding[]>;
}

/** Returns the findings about an object of a kind that is analyzed, whether or not it exists. */
export function findingsOfObject(collection: Collection<unknown>, key: string): ObjectFindings | undefined {
  const ofKind = kinds.find(({ kind }) => kind.collection === collection);
  return ofKind && { collection, key, query: ofKind.ofObject };
}

/** Yields the findings about each object of a database. */
export function* findingsOfEachObject<C>(database: Pick<Database<C>, "keys">): Generator<ObjectFindings> {
  for (const { kind, ofObject } of kinds) {
    const { collection } = kind;
    for (const key of database.keys(collection)) yield { collection, key, query: ofObject };
  }
}

/** Computes what most findings share in steps: the indexes of workloads, and what is read of them. */
function* computeShared<C>(database: Database<C>, view: View<C>): Generator<void> {
  for (const each of [...byProfile, ...workloadIndexes]) {
    yield* database.buildIndex(each);
    yield void database.keys(each);
  }
  for (const namespace of view.call(namespacesWithPods)) yield void view.call(profilesIn, namespace);
  yield void view.call(namespacesWithWorkloads);
}

/**
 * Computes what findings share, then the findings about one object at a time, so that the caller can yield to the event
 * loop in between. Of the first object of each kind, the rules are computed one at a time before: most of what they
 * read is shared with other objects.
 */
export function* computeByObject<C>(database: Database<C>, view: View<C>): Generator<void> {
  yield* computeShared(database, view);
  for (const { kind, ofRules } of kinds) {
    const [first] = database.keys(kind.collection);
    if (first !== undefined) for (const ofRule of ofRules) yield void view.call(ofRule, first);
  }
  for (const { query: ofObject, key } of findingsOfEachObject(database)) yield void view.call(ofObject, key);
}
