import fc, { type Arbitrary } from "fast-check";

/** An object of Kubernetes in JSON. */
export interface MeshObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace: string; readonly creationTimestamp?: string };
  readonly spec: object;
}

/** The namespaces of random meshes; the first is the root namespace. */
export const namespaces = ["istio-system", "shop"] as const;

/** Returns objects that have any subset of some fields. */
export const optional = <T extends object>(fields: { [K in keyof T]: Arbitrary<T[K]> }): Arbitrary<Partial<T>> =>
  fc.record(fields, { requiredKeys: [] }) as Arbitrary<Partial<T>>;

/** Returns one of some values. */
export const oneOf = <const T>(...values: readonly T[]): Arbitrary<T> => fc.constantFrom(...values);

/** Returns lists of at most some number of items. */
export const few = <T>(item: Arbitrary<T>, most = 2, least = 0): Arbitrary<T[]> =>
  fc.array(item, { minLength: least, maxLength: most });

/** Returns maps of one to three entries: to Istio, an empty map is none only in objects that it reads over xDS. */
export const entries = <T>(names: Arbitrary<string>, item: Arbitrary<T>): Arbitrary<Record<string, T>> =>
  fc.dictionary(names, item, { minKeys: 1, maxKeys: 3, noNullPrototype: true });

/** Returns a value, or undefined with a probability in percent. */
export const sometimes = <T>(item: Arbitrary<T>, percent: number): Arbitrary<T | undefined> =>
  fc.integer({ min: 0, max: 99 }).chain((at) => (at < percent ? item : fc.constant(undefined)));

export const duration = oneOf("0.250s", "1s", "5s", "90s");
export const percentage = fc.oneof(
  oneOf(0, 100, 0.01),
  fc.integer({ min: 0, max: 1000 }).map((tenths) => tenths / 10),
);

/** Returns the part of a policy that selects workloads: labels, Gateways, Services, or nothing. */
export const attachment: Arbitrary<object> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  {
    weight: 4,
    arbitrary: oneOf({ app: "cart" }, { app: "client" }, { istio: "gateway" }, { app: "cart", version: "v1" }).map(
      (matchLabels) => ({ selector: { matchLabels } }),
    ),
  },
  {
    weight: 2,
    arbitrary: few(
      oneOf(
        { group: "gateway.networking.k8s.io", kind: "Gateway", name: "edge" },
        { group: "gateway.networking.k8s.io", kind: "Gateway", name: "other" },
        { group: "", kind: "Service", name: "cart" },
      ),
      2,
      1,
    ).map((targetRefs) => ({ targetRefs })),
  },
);

/** Returns objects of a kind with distinct names and random ages in the namespaces. */
export const objects = (
  apiVersion: string,
  kind: string,
  spec: Arbitrary<object>,
  most: number,
  least = 0,
): Arbitrary<MeshObject[]> =>
  few(fc.tuple(oneOf(...namespaces), fc.integer({ min: 10, max: 12 }), spec), most, least).map((all) =>
    all.map(([namespace, hour, value], i) => ({
      apiVersion,
      kind,
      metadata: {
        name: `${kind.toLowerCase()}-${i}`,
        namespace,
        creationTimestamp: `2026-01-01T${hour}:00:00Z`,
      },
      spec: value,
    })),
  );
