/** Limits of a stream. */
export interface StreamLimits {
  /** Maximum number of resource types, including on-demand types. Default 32. */
  readonly types?: number;
  /** Maximum number of names in all subscriptions, and of entries in a list of a request. Default 250,000. */
  readonly names?: number;
  /**
   * Maximum size of the subscribed names that are not in the resource sets, in bytes: an estimate of what they and
   * their resources occupy. Other names are stored once for all streams. Default 134,217,728, and 67,108,864 for
   * streams that are not authenticated.
   */
  readonly unmatchedBytes?: number;
  /**
   * Maximum of `unmatchedBytes` of all streams, of which each may use 64 KiB freely. If it is exceeded, the streams of
   * the identity or address that uses most are ended, the latest first. Default 268,435,456, and 134,217,728 for
   * streams that are not authenticated.
   */
  readonly totalUnmatchedBytes?: number;
}

/** Limits of streams, by whether the source knows the identity of the client. */
export interface LimitsByAuthentication {
  readonly authenticated?: StreamLimits;
  readonly unauthenticated?: StreamLimits;
}

export const defaultLimits: {
  readonly authenticated: Required<StreamLimits>;
  readonly unauthenticated: Required<StreamLimits>;
} = {
  authenticated: {
    types: 32,
    names: 250_000,
    unmatchedBytes: 128 * 1024 * 1024,
    totalUnmatchedBytes: 256 * 1024 * 1024,
  },
  unauthenticated: {
    types: 32,
    names: 250_000,
    unmatchedBytes: 64 * 1024 * 1024,
    totalUnmatchedBytes: 128 * 1024 * 1024,
  },
};

/** Maximum length of a resource name in bytes. */
export const maxNameBytes = 16_384;
