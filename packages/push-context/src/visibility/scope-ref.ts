/**
 * The set of services and VirtualServices that a client imports, by reference. Clients with equal scopes import the
 * same; scoped queries take it as their argument.
 */
export interface ScopeRef {
  /**
   * Set for gateways and waypoints. Sidecars do not apply to them: they import all that is visible to their namespace.
   */
  readonly gateway?: true;
  /** The Sidecar that applies, `namespace/name`; absent if none does and everything is imported. */
  readonly sidecar?: string;
  /** A rejected Sidecar that limits outbound traffic to the registry, `namespace/name`; absent if there is none. */
  readonly rejectedSidecar?: string;
  /** The client's namespace; absent if it sees the same as a namespace without objects. */
  readonly namespace?: string;
}
