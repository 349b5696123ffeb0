/** A match of a path. */
export interface HttpPathMatch {
  readonly type: "PathPrefix" | "Exact" | "RegularExpression";
  readonly value: string;
}

/** A match of an HTTP header or query parameter. */
export interface ValueMatch {
  readonly type: "Exact" | "RegularExpression";
  readonly name: string;
  readonly value: string;
}

/** Conditions that a request satisfies together. */
export interface HttpRouteMatch {
  /** Default: the prefix `/`. */
  readonly path: HttpPathMatch;
  readonly headers: readonly ValueMatch[];
  readonly queryParams: readonly ValueMatch[];
  readonly method?: string;
}

/** A match of gRPC methods, by a service, a method or both. */
export interface GrpcMethodMatch {
  readonly type: "Exact" | "RegularExpression";
  readonly service?: string;
  readonly method?: string;
}

export interface GrpcRouteMatch {
  /** Default: all methods. */
  readonly method?: GrpcMethodMatch;
  readonly headers: readonly ValueMatch[];
}
