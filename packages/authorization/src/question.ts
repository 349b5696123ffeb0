import type { JsonValue } from "@bufbuild/protobuf";

/** A connection or request that a policy check is about. */
export interface Question {
  /**
   * The caller: `name.namespace` of a Pod or of its workload, `namespace/name` of a service account, a SPIFFE ID or
   * principal, or `none` for a caller without mutual TLS.
   */
  readonly from: string;
  /** The destination with its port: `name.namespace:port` of a Pod, a workload or a service, or a hostname. */
  readonly to: string;
  /** Default `GET` on HTTP ports. */
  readonly method?: string | undefined;
  /** The target as the caller sends it, with query. Default `/` on HTTP ports. */
  readonly path?: string | undefined;
  /** The Host header. Default: the service's hostname, or the Pod's address. */
  readonly host?: string | undefined;
  /** Each `name: value`. */
  readonly headers?: readonly string[] | undefined;
  /** A JSON Web Token that the caller sends where the JWT rule of its issuer expects it. */
  readonly jwt?: string | undefined;
  /** Server name of the TLS handshake. Default: as a sidecar sends it. */
  readonly sni?: string | undefined;
  /** Address of the direct peer. Default: the caller's Pod. */
  readonly sourceIp?: string | undefined;
  /** Address of the original client. Default: from the header X-Forwarded-For, as the proxy reads it. */
  readonly remoteIp?: string | undefined;
  /** Metadata of other filters, each `filter[key]=value`; the value is JSON or text. */
  readonly filterMetadata?: readonly string[] | undefined;
}

/** A question that names what does not exist, or is malformed. */
export class AuthorizationQuestionError extends Error {
  constructor(
    /** The field of the question. */
    readonly field: keyof Question,
    message: string,
  ) {
    super(`${field}: ${message}`);
    this.name = "AuthorizationQuestionError";
  }
}

/** Parses `name: value` or `name=value`. */
export function parseHeader(text: string): readonly [string, string] {
  const found = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+)\s*[:=]\s*(.*)$/s.exec(text);
  if (found?.[1] === undefined || found[2] === undefined)
    throw new AuthorizationQuestionError("headers", `${JSON.stringify(text)}: expected name: value`);
  return [found[1], found[2]];
}

/** Parses `filter[key]=value` entries. */
export function parseFilterMetadata(texts: readonly string[]): Record<string, Record<string, JsonValue>> {
  const out: Record<string, Record<string, JsonValue>> = {};
  for (const text of texts) {
    const found = /^([^[\]=]+)\[([^=]+)\]=(.*)$/s.exec(text);
    if (found === null)
      throw new AuthorizationQuestionError("filterMetadata", `${JSON.stringify(text)}: expected filter[key]=value`);
    const [, filter = "", key = "", value = ""] = found;
    (out[filter] ??= {})[key] = parseJson(value);
  }
  return out;
}

function parseJson(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return text;
  }
}
