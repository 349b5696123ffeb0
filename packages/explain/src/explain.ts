import { ingressKinds, istioKinds } from "@istiod/config-schema";
import type { Database, ExplainedFact, Key, View } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";
import type { Resource } from "@istiod/resources";
import { generators, lookups } from "@istiod/xds-generators";
import { type Budget, type Effect, effectOf } from "./fields-that-mattered.js";
import { type Loss, losses } from "./losses/index.js";
import { listsRead, type ObjectRead, objectsRead } from "./made-from.js";
import { type Maker, Makers, walk } from "./maker.js";
import { type ResourceType, resourceTypes } from "./resource-types.js";
import { isOfUnknownName } from "./unknown-resource.js";

export interface ExplainOptions {
  /** Default: every type. */
  readonly types?: readonly ResourceType[];
  /** Default: every resource that the proxy has. One that it could ask for by name is found too. */
  readonly name?: string;
  /** How many times a resource may be computed to find which objects and fields mattered; 0: not tried. Default 0. */
  readonly tries?: number;
}

/** A fact of the client that was asked, with its answer. */
export interface AskedFact {
  readonly fact: string;
  readonly arg?: Key;
  readonly answer: unknown;
}

/** Why a resource is what it is. */
export interface ResourceExplanation {
  readonly type: string;
  readonly name: string;
  readonly version: string;
  /** What it was made from, in order of first reading. Without `effect` where it was not tried. */
  readonly objects: readonly (ObjectRead & { readonly effect?: Effect })[];
  /** Kinds of which all names, or all objects, were looked through. */
  readonly lists: readonly string[];
  readonly facts: readonly AskedFact[];
  readonly losses: readonly Loss[];
}

/** Explains what a client has, from the records of how it was computed. */
export function explain(
  database: Database<Proxy>,
  view: View<Proxy>,
  { types = resourceTypes, name, tries = 0 }: ExplainOptions = {},
): readonly ResourceExplanation[] {
  const budget: Budget = { tries };
  const inSets = types.flatMap((type) => made(view, type, name));
  const found =
    inSets.length === 0 && name !== undefined ? types.flatMap((type) => lookedUp(view, type, name)) : inSets;
  return found.map((each) => explanationOf(database, view, each, budget));
}

interface Made {
  readonly type: ResourceType;
  readonly resource: Resource;
  readonly maker: Maker;
}

function made(view: View<Proxy>, type: ResourceType, name: string | undefined): readonly Made[] {
  const generator = generators[type.typeUrl];
  if (generator === undefined) return [];
  const set = view.call(generator);
  const makers = new Makers(view.explain(generator));
  const wanted = name === undefined ? [...set] : [set.get(name)].filter((found) => found !== undefined);
  return wanted.flatMap((resource) => {
    const maker = makers.of(resource);
    return maker === undefined ? [] : [{ type, resource, maker }];
  });
}

/** A resource that is not in the client's set, and that it would get if it asked for it by name. */
function lookedUp(view: View<Proxy>, type: ResourceType, name: string): readonly Made[] {
  const lookup = lookups[type.typeUrl];
  const resource = lookup && view.call(lookup, name);
  if (lookup === undefined || resource === undefined || isOfUnknownName(type, resource)) return [];
  return [{ type, resource, maker: walk(view.explain(lookup, name).tree) }];
}

function explanationOf(
  database: Database<Proxy>,
  view: View<Proxy>,
  { type, resource, maker }: Made,
  budget: Budget,
): ResourceExplanation {
  const read = objectsRead(maker.reads);
  const effects = new Map<ObjectRead, Effect | undefined>();
  for (const object of [...read].sort((a, b) => Number(isWritten(b)) - Number(isWritten(a)))) {
    if (budget.tries > 0 && object.read !== "absent")
      effects.set(object, effectOf(database, view, maker, resource, object, budget));
  }
  const objects = read.map((object) => {
    const effect = effects.get(object);
    return effect === undefined ? object : { ...object, effect };
  });
  return {
    type: type.short,
    name: resource.name,
    version: resource.version,
    objects,
    lists: listsRead(maker.reads),
    facts: maker.facts.map(asked),
    losses: losses(database, view, type, resource.name, maker),
  };
}

const written = new Set([...ingressKinds, ...istioKinds].map(({ kind }) => kind));

/** Whether people write such objects to shape traffic: they are tried first, since tries may not suffice for all. */
function isWritten({ kind }: ObjectRead): boolean {
  return written.has(kind);
}

function asked({ fact, arg, answer }: ExplainedFact): AskedFact {
  return {
    fact,
    ...(arg !== undefined && { arg }),
    answer: answer instanceof Error ? `error: ${answer.message}` : answer,
  };
}
