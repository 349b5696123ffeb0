/** A Gateway or ListenerSet that routes can name as their parent. */
export interface ListenerParent {
  readonly kind: "Gateway" | "ListenerSet";
  readonly namespace: string;
  readonly name: string;
}

/** A kind of routes, such as `HTTPRoute` of the group `gateway.networking.k8s.io`. */
export interface RouteKind {
  readonly group: string;
  readonly kind: string;
}

/** A listener of a Gateway or ListenerSet, as routes see it. */
export interface AttachableListener {
  /** Key (`namespace/name`) of the Istio Gateway that stands for the listener. */
  readonly gateway: string;
  readonly sectionName: string;
  readonly port: number;
  /** As declared, for example `HTTPS`. */
  readonly protocol: string;
  /** As declared; empty for all hosts. */
  readonly hostname: string;
  /** Hosts of the Istio Gateway's server: `namespace/host` for each namespace whose routes are allowed, `*` for all. */
  readonly hosts: readonly string[];
  /** The kinds of routes that the listener accepts. */
  readonly allowedKinds: readonly RouteKind[];
}
