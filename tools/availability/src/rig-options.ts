/** Size of a run. */
export interface RigOptions {
  /** xDS streams, in addition to those of the pods. */
  readonly streams: number;
  readonly requestsPerSecond: number;
  /** Milliseconds between changes of the mesh, and between calls of the webhooks. */
  readonly changeMs: number;
  readonly admissionMs: number;
  readonly replicas: number;
  /** Seconds for which the Envoy of a deleted pod drains. */
  readonly drainSeconds: number;
  /** Lifetime of the certificates of pods, which are renewed after half of it. */
  readonly certificateLifetime: string;
}

/** The size that the results are promised for. */
export const fullSize: RigOptions = {
  streams: 200,
  requestsPerSecond: 500,
  changeMs: 500,
  admissionMs: 250,
  replicas: 3,
  drainSeconds: 5,
  certificateLifetime: "100s",
};
