import { ingressKinds, istioKinds } from "@istiod/config-schema";
import type { Database, ExplainedFact, Key, View } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";
import type { Resource } from "@istiod/resources";
import { generators, lookups } from "@istiod/xds-generators";
import { ignoredConfigs, type IgnoredConfig } from "./ignored/index.js";
import { type Budget, type Effect, effectOf } from "./provenance/effect.js";
import { listedKinds, type ObjectRead, objectsRead } from "./provenance/objects-read.js";
import { type Producer, producerFrom, ProducerIndex } from "./provenance/producer.js";
import { type ConnectedProxy, type ProxyState, proxyStateOf } from "./proxy-state.js";
import { isPlaceholder } from "./resource-names.js";
import { type ResourceType, resourceTypes } from "./resource-types.js";

export interface ExplainOptions {
  /** Default: every type. */
  readonly types?: readonly ResourceType[];
  /** Name of one resource, which the proxy has or could subscribe to. Default: all resources of the proxy. */
  readonly name?: string;
  /** Maximum number of dry runs that look for the objects and fields with an effect. Default 0: none. */
  readonly tries?: number;
  /** The connected proxy. Default: the proxy is not connected, and what it has is not known. */
  readonly connection?: ConnectedProxy | undefined;
}

/** A fact about the client that a query asked, with its answer. */
export interface AskedFact {
  readonly fact: string;
  readonly arg?: Key;
  readonly answer: unknown;
}

/** The provenance of a resource. */
export interface ResourceExplanation {
  readonly type: string;
  readonly name: string;
  readonly version: string;
  /** State of this version on the proxy. Absent if it is not connected. */
  readonly proxyState?: ProxyState;
  /** Objects that the resource was built from, in order of first reading. `effect` is absent if no dry run was made. */
  readonly objects: readonly (ObjectRead & { readonly effect?: Effect })[];
  /** Kinds of which all names or all objects were listed. */
  readonly lists: readonly string[];
  readonly facts: readonly AskedFact[];
  /** Objects that could have affected the resource, with the reason why they do not. */
  readonly ignored: readonly IgnoredConfig[];
}

/** Explains the resources of a client from the recorded dependencies of the queries that produced them. */
export function explain(
  database: Database<Proxy>,
  view: View<Proxy>,
  { types = resourceTypes, name, tries = 0, connection }: ExplainOptions = {},
): readonly ResourceExplanation[] {
  const budget: Budget = { tries };
  const generated = types.flatMap((type) => generatedResources(view, type, name));
  const found =
    generated.length === 0 && name !== undefined
      ? types.flatMap((type) => lookedUpResource(view, type, name))
      : generated;
  return found.map((each) => explanationOf(database, view, each, budget, connection));
}

interface ProducedResource {
  readonly type: ResourceType;
  readonly resource: Resource;
  readonly producer: Producer;
}

function generatedResources(
  view: View<Proxy>,
  type: ResourceType,
  name: string | undefined,
): readonly ProducedResource[] {
  const generator = generators[type.typeUrl];
  if (generator === undefined) return [];
  const set = view.call(generator);
  const producers = new ProducerIndex(view.explain(generator));
  const wanted = name === undefined ? [...set] : [set.get(name)].filter((found) => found !== undefined);
  return wanted.flatMap((resource) => {
    const producer = producers.producerOf(resource);
    return producer === undefined ? [] : [{ type, resource, producer }];
  });
}

/** Returns a resource that is not in the client's set and that it would get on subscribing to the name. */
function lookedUpResource(view: View<Proxy>, type: ResourceType, name: string): readonly ProducedResource[] {
  const lookup = lookups[type.typeUrl];
  const resource = lookup && view.call(lookup, name);
  if (lookup === undefined || resource === undefined || isPlaceholder(type, resource)) return [];
  return [{ type, resource, producer: producerFrom(view.explain(lookup, name).tree) }];
}

function explanationOf(
  database: Database<Proxy>,
  view: View<Proxy>,
  { type, resource, producer }: ProducedResource,
  budget: Budget,
  connection: ConnectedProxy | undefined,
): ResourceExplanation {
  const read = objectsRead(producer.reads);
  const effects = new Map<ObjectRead, Effect | undefined>();
  for (const object of trafficObjectsFirst(read)) {
    if (budget.tries > 0 && object.read !== "absent")
      effects.set(object, effectOf(database, view, producer, resource, object, budget));
  }
  const objects = read.map((object) => {
    const effect = effects.get(object);
    return effect === undefined ? object : { ...object, effect };
  });
  return {
    type: type.short,
    name: resource.name,
    version: resource.version,
    ...(connection && { proxyState: proxyStateOf(connection, type.typeUrl, resource) }),
    objects,
    lists: listedKinds(producer.reads),
    facts: producer.facts.map(askedFact),
    ignored: ignoredConfigs(database, view, type, resource, producer),
  };
}

const trafficKinds = new Set([...ingressKinds, ...istioKinds].map(({ kind }) => kind));

/** Sorts objects that users write to shape traffic first, because the budget may not suffice for all objects. */
function trafficObjectsFirst(objects: readonly ObjectRead[]): readonly ObjectRead[] {
  return [...objects].sort((a, b) => Number(trafficKinds.has(b.kind)) - Number(trafficKinds.has(a.kind)));
}

function askedFact({ fact, arg, answer }: ExplainedFact): AskedFact {
  return {
    fact,
    ...(arg !== undefined && { arg }),
    answer: answer instanceof Error ? `error: ${answer.message}` : answer,
  };
}
