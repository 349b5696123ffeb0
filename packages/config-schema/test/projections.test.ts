import { readFileSync } from "node:fs";
import {
  allKinds,
  analysisKinds,
  decode,
  type Decoded,
  documentsOf,
  type Kind,
  parseYaml,
  fieldsOf,
  type FieldSelection,
} from "@istiod/config-schema";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { filesBelow, sharedFolder } from "./shared.js";

type Json = Record<string, unknown>;
type Random = (choices: number) => number;

const kinds = [...allKinds, ...analysisKinds];

/** Mappings of which single entries are selected. API servers accept valid keys and strings in them only. */
const selectable = ["labels", "annotations", "data", "stringData"];
const keys = [
  "a",
  "istio.io/rev",
  "kubernetes.io/service-name",
  "kubernetes.io/ingress.class",
  "ca.crt",
  "mesh",
  "app",
];
const strings = ["a", "10.0.0.1", "FQDN", "Always", "Exact", "b.c", ""];
/** Values on which decoding depends, by the fields that have them. */
const hints: Readonly<Record<string, readonly string[]>> = {
  type: ["Healthy", "Ready", "Programmed", "istio.io/WaypointBound"],
  status: ["True", "False"],
  name: ["BLOCKED_CIDRS_IN_JWKS_URIS", "a"],
};
/** Names of fields that are mappings, or lists of them, in some kind. */
const structured = new Set(kinds.flatMap((kind) => structuredNames(fieldsOf(kind))));

function structuredNames(selection: FieldSelection): string[] {
  if (selection === true) return [];
  return Object.entries(selection).flatMap(([name, of]) => (of === true ? [] : [name, ...structuredNames(of)]));
}

/** Returns a value that calls back for each field that is read and absent. */
function tracked(value: unknown, missing: (parent: Json, name: string) => void): unknown {
  if (typeof value !== "object" || value === null) return value;
  return new Proxy(value as Json, {
    get(target, name) {
      if (typeof name !== "string" || Array.isArray(target)) {
        const item: unknown = Reflect.get(target, name);
        return typeof name === "string" && /^\d+$/.test(name) ? tracked(item, missing) : item;
      }
      if (name in Object.prototype) return Reflect.get(target, name);
      if (!Object.hasOwn(target, name)) missing(target, name);
      return tracked(target[name], missing);
    },
  });
}

function randomValue(name: string, random: Random): unknown {
  if (name === "creationTimestamp") return "2024-01-31T12:00:00Z";
  const leaf = (): string | undefined => {
    const values = hints[name] ?? strings;
    return values[random(values.length)];
  };
  if (structured.has(name) && random(4) > 0) return [{}, [{}, {}], [{}, {}, {}], hints[name] && leaf()][random(4)];
  if (selectable.includes(name)) {
    const value = name === "data" ? "YQ==" : "a";
    return Object.fromEntries(keys.filter(() => random(2) === 0).map((key) => [key, value]));
  }
  const choices: readonly (() => unknown)[] = [
    leaf,
    leaf,
    leaf,
    leaf,
    leaf,
    leaf,
    () => random(100),
    () => random(2) === 0,
    () => [strings[random(strings.length)]],
    () => ({}),
    () => ({}),
    () => ({}),
    () => [{}],
    () => [{}, {}],
    () => [{}, {}],
    () => null,
    () => Object.fromEntries(keys.filter(() => random(2) === 0).map((key) => [key, "x"])),
  ];
  return choices[random(choices.length)]?.();
}

/** Returns a random object of a kind, grown by the fields that decoding reads, with fields that nobody reads. */
function grow(kind: Kind, random: Random): Json {
  const object: Json = {
    apiVersion: kind.group === "" ? kind.versions[0] : `${kind.group}/${kind.versions[0]}`,
    kind: kind.kind,
    metadata: { name: "a", namespace: "b", managedFields: [{ manager: "m" }] },
    unread: true,
  };
  for (let round = 0; round < 9; round++) {
    const absent: [Json, string][] = [];
    decode(
      tracked(object, (parent, name) => absent.push([parent, name])),
      { kinds: [kind], acceptInvalid: true },
    );
    for (const [parent, name] of absent) {
      if (random(5) > 0) parent[name] = randomValue(name, random);
      if (random(10) === 0) parent["unread"] = "x";
    }
  }
  return object;
}

function project(value: unknown, selection: FieldSelection): unknown {
  if (selection === true || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => project(item, selection));
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, field]): [string, unknown][] => {
      const of = Object.hasOwn(selection, name) ? selection[name] : undefined;
      return of === undefined ? [] : [[name, project(field, of)]];
    }),
  );
}

/** Decodes an object also if validation rejects it, so that the fields of as many as possible are compared. */
function decodeWith(kind: Kind, object: unknown): readonly Decoded[] {
  return decode(object, { kinds: [kind], acceptInvalid: true });
}

function projected(kind: Kind, object: Json): unknown {
  return project(object, fieldsOf(kind));
}

describe("decoding the selected fields gives what decoding all of them gives", () => {
  test.each(kinds.map((kind) => [`${kind.kind} of ${kind.group || "the core group"}`, kind] as const))(
    "%s",
    (_, kind) => {
      let accepted = 0;
      fc.assert(
        fc.property(fc.infiniteStream(fc.nat()), (stream) => {
          const random: Random = (choices) => (stream.next().value as number) % choices;
          const object = grow(kind, random);
          const whole = decodeWith(kind, object);
          expect(decodeWith(kind, projected(kind, object))).toEqual(whole);
          accepted += whole.filter(({ outcome }) => outcome === "accepted").length;
        }),
        { numRuns: 150 },
      );
      expect(accepted).toBeGreaterThan(0);
    },
  );

  const shared = sharedFolder("scenarios");
  test("for the objects of the reference scenarios", (context) => {
    if (shared === undefined) context.skip("no folder ../shared/scenarios");
    let compared = 0;
    for (const file of filesBelow(shared!, ".yaml"))
      for (const document of documentsOf(readFileSync(file, "utf8"))) {
        const parsed = parseYaml(document);
        if ("message" in parsed) continue;
        for (const item of itemsOf(parsed.value)) {
          const kind = kinds.find((k) => k.kind === item["kind"] && String(item["apiVersion"]).startsWith(k.group));
          if (kind === undefined) continue;
          expect(decodeWith(kind, projected(kind, item))).toEqual(decodeWith(kind, item));
          compared++;
        }
      }
    expect(compared).toBeGreaterThan(100);
  });
});

function itemsOf(document: unknown): readonly Json[] {
  const items = (document as Json | null)?.["items"];
  return Array.isArray(items) ? (items as Json[]) : document === null ? [] : [document as Json];
}

test.each([
  ["WorkloadEntry", { address: "10.0.0.1" }, { conditions: [{ type: "Healthy", status: "True" }] }],
  [
    "ServiceEntry",
    { hosts: ["a.example"], ports: [{ number: 80, name: "http" }], resolution: "STATIC" },
    { addresses: [{ value: "240.240.0.1", host: "a.example" }] },
  ],
])("the status of a %s is selected", (name, spec, status) => {
  const kind = kinds.find((known) => known.kind === name)!;
  const object = {
    apiVersion: "networking.istio.io/v1",
    kind: name,
    metadata: { name: "a", namespace: "b" },
    spec,
    status,
  };
  const whole = decode(object, { kinds: [kind] });
  expect(whole).toMatchObject([{ outcome: "accepted", object: { status: expect.anything() as unknown } }]);
  expect(decode(projected(kind, object), { kinds: [kind] })).toEqual(whole);
});

test("a projection drops what nobody reads", () => {
  const pod = kinds.find(({ kind }) => kind === "Pod")!;
  const object = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: "a",
      namespace: "b",
      uid: "u",
      resourceVersion: "1",
      labels: { app: "a" },
      annotations: { "istio.io/rev": "x", "kubectl.kubernetes.io/last-applied-configuration": "{}" },
      managedFields: [{ manager: "kubectl" }],
    },
    spec: { nodeName: "n", volumes: [{ name: "v" }], containers: [{ name: "c", image: "i", command: ["run"] }] },
    status: { podIP: "10.0.0.1", hostIP: "10.0.0.2" },
  };
  expect(project(object, fieldsOf(pod))).toEqual({
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: "a",
      namespace: "b",
      uid: "u",
      resourceVersion: "1",
      labels: { app: "a" },
      annotations: { "istio.io/rev": "x", "kubectl.kubernetes.io/last-applied-configuration": "{}" },
    },
    spec: { nodeName: "n", containers: [{ name: "c", image: "i" }] },
    status: { podIP: "10.0.0.1" },
  });
});
