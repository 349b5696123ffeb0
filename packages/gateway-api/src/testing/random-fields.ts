import fc from "fast-check";

/** An object as an API server would store it: with the defaults of its definition. */
export interface MeshObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly creationTimestamp?: string;
    readonly labels?: object;
    readonly annotations?: object;
  };
  readonly spec?: object;
  readonly status?: object;
  readonly data?: object;
  readonly [field: string]: unknown;
}

export const GROUP = "gateway.networking.k8s.io";
export const INFERENCE_GROUP = "inference.networking.k8s.io";
export const ISTIO_GROUP = "networking.istio.io";

const { constantFrom, record, array, option, oneof } = fc;
export const optional = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  option(arbitrary, { nil: undefined });
/** Absent more often than not. */
export const rare = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  oneof({ weight: 6, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
/** Present more often than not. */
export const usual = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  oneof({ weight: 1, arbitrary: fc.constant(undefined) }, { weight: 4, arbitrary });
/** Few elements, more often some than none. */
export const some = <T>(arbitrary: fc.Arbitrary<T>, maxLength = 2): fc.Arbitrary<T[]> =>
  array(arbitrary, { minLength: 1, maxLength });

export const namespaces = ["shop", "payments", "infra"] as const;
export const namespace = constantFrom(...namespaces);
/** A point in the first seconds of the mesh: many objects are equally old. */
const creationTimestamp = fc.integer({ min: 0, max: 5 }).map((second) => `2024-01-01T00:00:0${second}Z`);

/** Gives an object whose name ends with a dash its number. */
export function rename(of: MeshObject, index: number): MeshObject {
  const { name } = of.metadata;
  return name.endsWith("-") ? { ...of, metadata: { ...of.metadata, name: `${name}${index}` } } : of;
}

/** Objects whose names `rename` completes. */
export const named = (kind: string, prefix: string, of: fc.Arbitrary<string>, spec: Spec): fc.Arbitrary<MeshObject> =>
  object(kind, `${prefix}-`, of, spec);

type Spec = Readonly<Record<string, fc.Arbitrary<unknown>>>;

/** Objects of the Gateway API or of its inference extension. */
export function object(kind: string, name: string, of: fc.Arbitrary<string>, spec: Spec): fc.Arbitrary<MeshObject> {
  const metadata = record({ name: fc.constant(name), namespace: of, creationTimestamp });
  const version = kind === "ReferenceGrant" ? "v1beta1" : "v1";
  const group = kind === "InferencePool" ? INFERENCE_GROUP : GROUP;
  return record({
    apiVersion: fc.constant(`${group}/${version}`),
    kind: fc.constant(kind),
    metadata,
    spec: record(spec),
  });
}

export function unique<T>(keyOf: (item: T) => unknown): (items: readonly T[]) => T[] {
  return (items) => items.filter((item, index) => items.findIndex((other) => keyOf(other) === keyOf(item)) === index);
}

/** Rules of a route have different names. */
export function nameOnce<T extends { readonly name: string | undefined }>(rules: readonly T[]): T[] {
  return rules.map((rule, index) => (index === 0 ? rule : { ...rule, name: undefined }));
}
