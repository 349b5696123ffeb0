/** An object in JSON. */
export interface MeshObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec: object;
}

export interface RandomMeshOptions {
  readonly namespace: string;
  /** The beginning of the names of its objects and hosts. */
  readonly prefix: string;
  /** Addresses of endpoints. */
  readonly addresses: readonly string[];
  /** Ports of endpoints. Default: 7000, 7001 and 7002. */
  readonly endpointPorts?: readonly number[];
  /** Default: 5. */
  readonly services?: number;
  /** Adds objects that concern all workloads of the namespace: policies and a Sidecar. */
  readonly isAlone?: boolean;
}

/** A service of a random mesh, with the ports that clients may name. */
export interface RandomService {
  readonly host: string;
  readonly ports: readonly number[];
}
