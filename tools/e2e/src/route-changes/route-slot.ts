/** State of a changing route. */
export type RouteState =
  | { readonly kind: "absent" }
  | {
      readonly kind: "present";
      /** The response header `x-version` of its requests. */
      readonly version: number;
      /** Weights of the backends `cart` and `beta`. */
      readonly weights: readonly [number, number];
    };

/** The host of every second route, which has a route that stays, too. */
export const sharedHost = "shared.example";

/** An HTTPRoute of the namespace `tenant` that is created, edited and deleted. */
export class RouteSlot {
  state: RouteState = { kind: "absent" };
  readonly #n: number;

  constructor(n: number) {
    this.#n = n;
  }

  get name(): string {
    return `route-${this.#n}`;
  }

  /** Every second route is of the host of a route that stays. */
  get #isShared(): boolean {
    return this.#n % 2 === 1;
  }

  get host(): string {
    return this.#isShared ? sharedHost : `${this.name}.example`;
  }

  get path(): string {
    return `/${this.name}`;
  }

  /** Returns the status of a request to it, and its version. Where it is absent, a route of its host answers. */
  get expected(): { readonly status: number; readonly version: string | undefined } {
    if (this.state.kind === "present") return { status: 200, version: String(this.state.version) };
    return { status: this.#isShared ? 200 : 404, version: undefined };
  }

  /** Returns its object, YAML. */
  object(): string {
    if (this.state.kind === "absent") return "---\n";
    const { version, weights } = this.state;
    return `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: ${this.name}, namespace: tenant}
spec:
  parentRefs: [{name: ingress, namespace: edge, sectionName: all}]
  hostnames: [${this.host}]
  rules:
  - matches: [{path: {type: PathPrefix, value: ${this.path}}}]
    filters: [{type: ResponseHeaderModifier, responseHeaderModifier: {set: [{name: x-version, value: "${version}"}]}}]
    backendRefs: [{name: cart, port: 8000, weight: ${weights[0]}}, {name: beta, port: 8000, weight: ${weights[1]}}]
`;
  }
}
