import { create } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import {
  type JwtAuthentication,
  JwtAuthenticationSchema,
  type JwtProvider,
  JwtProviderSchema,
  type JwtRequirement,
  JwtRequirementSchema,
} from "@istiod/envoy-api/envoy/extensions/filters/http/jwt_authn/v3/config";
import { query, type QueryContext } from "@istiod/incremental";
import {
  type JWTRule,
  JWTRule_JWTRequirement as JWTRequirement,
} from "@istiod/istio-api/security/v1beta1/request_authentication";
import { applicableJwtRules, localJwks, proxyType, remoteJwksServer, unverifiableJwks } from "@istiod/push-context";
import { duration } from "../envoy/duration.js";
import { type HttpFilter, httpFilter } from "../envoy/filters.js";
import { outboundClusterName } from "../resource-names.js";
import { jwtFilterName, jwtPayloadKey } from "./jwt-claims.js";

/**
 * The JWT filter for the client's RequestAuthentications, whatever its size; none if there are none. Tokens must be
 * valid, and are optional unless their rule requires them.
 * Source: pilot/pkg/security/authn/policy_applier.go.
 */
export const writtenJwtFilters = query("writtenJwtFilters", (q): readonly HttpFilter[] => {
  const rules = q.call(applicableJwtRules);
  if (rules.length === 0) return [];
  // Routes of gateways may depend on claims.
  const clearRouteCache = q.ask(proxyType) !== "sidecar";
  const providers = rules.map((rule) => provider(q, rule, clearRouteCache));
  const isRequired = rules.map(({ presence }) => presence === JWTRequirement.REQUIRED);
  return [httpFilter(jwtFilterName, anyPack(JwtAuthenticationSchema, authentication(providers, isRequired)))];
});

/** Returns a filter that rejects every request with 401, including CORS preflights. */
export function rejectingJwtFilter(): HttpFilter {
  return httpFilter(jwtFilterName, anyPack(JwtAuthenticationSchema, unsatisfiable));
}

/** Requires a token that no key verifies, of every request, including CORS preflights. */
const unsatisfiable: JwtAuthentication = create(JwtAuthenticationSchema, {
  rules: [
    {
      match: { pathSpecifier: { case: "prefix", value: "/" } },
      requirementType: { case: "requires", value: providerRequirement("rejected") },
    },
  ],
  providers: {
    rejected: {
      jwksSourceSpecifier: {
        case: "localJwks",
        value: { specifier: { case: "inlineString", value: unverifiableJwks } },
      },
    },
  },
});

/** @param isRequired whether the token of each provider is required */
function authentication(providers: readonly JwtProvider[], isRequired: readonly boolean[]): JwtAuthentication {
  const names = providers.map((_, i) => `origins-${i}`);
  const each = names.map((name, i) =>
    isRequired[i] ? providerRequirement(name) : requireAny([providerRequirement(name), allowMissing]),
  );
  const [only] = each;
  // A token location shared by several issuers can satisfy only one of them, so one valid token suffices. It does not
  // if another one is required.
  const requires =
    only !== undefined && each.length === 1
      ? only
      : isRequired.includes(true)
        ? requireAll(each)
        : requireAny([...names.map(providerRequirement), requireAll(each)]);
  return create(JwtAuthenticationSchema, {
    rules: [
      {
        match: { pathSpecifier: { case: "prefix", value: "/" } },
        requirementType: { case: "requires", value: requires },
      },
    ],
    providers: Object.fromEntries(providers.map((value, i) => [`origins-${i}`, value])),
    bypassCorsPreflight: true,
  });
}

function provider(q: QueryContext, rule: JWTRule, clearRouteCache: boolean): JwtProvider {
  return create(JwtProviderSchema, {
    issuer: rule.issuer,
    audiences: rule.audiences,
    forward: rule.forwardOriginalToken,
    forwardPayloadHeader: rule.outputPayloadToHeader,
    payloadInMetadata: jwtPayloadKey,
    normalizePayloadInMetadata: {
      spaceDelimitedClaims: [...new Set([...rule.spaceDelimitedClaims, "permission", "scope"])].sort(),
    },
    clearRouteCache,
    claimToHeaders: rule.outputClaimToHeaders.map(({ header, claim }) => ({ headerName: header, claimName: claim })),
    fromHeaders: rule.fromHeaders.map(({ name, prefix }) => ({ name, valuePrefix: prefix })),
    fromParams: rule.fromParams,
    fromCookies: rule.fromCookies,
    jwksSourceSpecifier: remoteJwks(q, rule) ?? {
      case: "localJwks",
      value: { specifier: { case: "inlineString", value: localJwks(q, rule) } },
    },
  });
}

/** Returns the key set that the proxy fetches itself; undefined for a local one. */
function remoteJwks(q: QueryContext, rule: JWTRule) {
  const server = remoteJwksServer(q, rule);
  if (server === undefined) return undefined;
  return {
    case: "remoteJwks" as const,
    value: {
      httpUri: {
        uri: rule.jwksUri,
        httpUpstreamType: { case: "cluster" as const, value: outboundClusterName(server.hostname, server.port) },
        timeout: rule.timeout ?? duration(5000),
      },
      cacheDuration: duration(300_000),
    },
  };
}

function providerRequirement(value: string): JwtRequirement {
  return create(JwtRequirementSchema, { requiresType: { case: "providerName", value } });
}

const allowMissing = create(JwtRequirementSchema, { requiresType: { case: "allowMissing", value: {} } });

function requireAny(requirements: readonly JwtRequirement[]): JwtRequirement {
  return create(JwtRequirementSchema, {
    requiresType: { case: "requiresAny", value: { requirements: [...requirements] } },
  });
}

function requireAll(requirements: readonly JwtRequirement[]): JwtRequirement {
  return create(JwtRequirementSchema, {
    requiresType: { case: "requiresAll", value: { requirements: [...requirements] } },
  });
}
