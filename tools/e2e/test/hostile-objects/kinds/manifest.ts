import fc from "fast-check";
import { names, namespaces } from "../values.js";

/** A Kubernetes object as JSON. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly creationTimestamp?: string;
  };
  readonly spec?: unknown;
}

export const metadata = fc.record({ name: names, namespace: namespaces });
export const object = (apiVersion: string, kind: string, spec: fc.Arbitrary<unknown>): fc.Arbitrary<Manifest> =>
  fc.record({ metadata, spec }).map((fields) => ({ apiVersion, kind, ...fields }));
export const networking = "networking.istio.io/v1";
