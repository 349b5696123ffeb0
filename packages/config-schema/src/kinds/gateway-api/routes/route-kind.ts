import type { Collection } from "@istiod/incremental";
import type { ConfigObject } from "../../../config-object.js";
import { Fields } from "../../../decoding/fields.js";
import { Place } from "../../../validation/place.js";
import { isIstioKey } from "../../istio/istio-keys.js";
import { declareKind, type Kind } from "../../kind.js";
import { hostnameRule } from "../field-rules.js";
import type { RouteParents } from "./references.js";

/** Fields of all kinds of routes with hostnames. */
export interface RouteSpec extends RouteParents {
  /** Hosts that the route applies to, with `*` as first label for all below it. Empty: all hosts of its parents. */
  readonly hostnames: readonly string[];
}

interface RouteKindDeclaration<S> {
  readonly of: Collection<ConfigObject<S>>;
  /** Versions that custom resource definitions serve or served. */
  readonly versions: readonly string[];
  key(object: { readonly namespace: string; readonly name: string }): string;
  decode(spec: Fields): S;
  /** Checks a decoded spec. */
  validate?(spec: S, place: Place): void;
}

/** Declares a kind of routes of the Gateway API. */
export function routeKind<S>({ of, versions, key, decode, validate }: RouteKindDeclaration<S>): Kind {
  return declareKind<S, undefined>({
    kind: of.name,
    group: "gateway.networking.k8s.io",
    versions,
    scope: "namespaced",
    nameRule: "mixedCaseSubdomain",
    collection: of,
    labels: isIstioKey,
    annotations: isIstioKey,
    conditions: ["Accepted", "Programmed", "ResolvedRefs"],
    fields: { spec: true },
    hasGeneration: true,
    key,
    decode: (manifest, report) => ({ spec: decode(Fields.of(manifest.body, report).object("spec")) }),
    ...(validate && { validate: ({ spec }, report) => validate(spec, Place.spec(report)) }),
  });
}

/** Decodes the hostnames of a route. */
export function decodeHostnames(spec: Fields): readonly string[] {
  const hostnames = spec.strings("hostnames");
  for (const [i, host] of hostnames.entries())
    if (!hostnameRule.isValid(host)) spec.fault(["hostnames", i], host, hostnameRule.expected);
  return hostnames;
}

/** Reports rules of a route that have the same name. */
export function checkRuleNames(spec: Fields): void {
  const names = new Set<string>();
  for (const [i, rule] of spec.list("rules").entries()) {
    const name = rule.string("name");
    if (name !== "" && names.has(name)) spec.fault(["rules", i, "name"], name, "a name that no rule before it has");
    names.add(name);
  }
}
