import { create } from "@bufbuild/protobuf";
import { ApiVersion } from "@istiod/envoy-api/envoy/config/core/v3/config_source";
import { type GrpcService, GrpcServiceSchema } from "@istiod/envoy-api/envoy/config/core/v3/grpc_service";
import {
  type ExtAuthz,
  ExtAuthzSchema,
  type HttpService,
  HttpServiceSchema,
} from "@istiod/envoy-api/envoy/extensions/filters/http/ext_authz/v3/ext_authz";
import {
  type ExtAuthz as TcpExtAuthz,
  ExtAuthzSchema as TcpExtAuthzSchema,
} from "@istiod/envoy-api/envoy/extensions/filters/network/ext_authz/v3/ext_authz";
import { type ListStringMatcher, ListStringMatcherSchema } from "@istiod/envoy-api/envoy/type/matcher/v3/string";
import { StatusCode } from "@istiod/envoy-api/envoy/type/v3/http_status";
import type {
  MeshConfig_ExtensionProvider as ExtensionProvider,
  MeshConfig_ExtensionProvider_EnvoyExternalAuthorizationGrpcProvider as GrpcProvider,
  MeshConfig_ExtensionProvider_EnvoyExternalAuthorizationHttpProvider as HttpProvider,
} from "@istiod/istio-api/mesh/v1alpha1/config";
import { duration } from "../../envoy/duration.js";
import { exactMatcher, prefixMatcher, suffixMatcher } from "../../envoy/string-matcher.js";
import { metadataMatcher, stringValue } from "../../envoy/value-matcher.js";

/** The service of an extension provider. */
interface ProviderAddress {
  readonly hostname: string;
  readonly cluster: string;
}

type ProviderLookup = (service: string, port: number) => ProviderAddress | undefined;

/** The ext_authz filters of a provider. An HTTP provider has none for TCP chains. */
export interface ExternalAuthorization {
  readonly http: ExtAuthz;
  readonly tcp?: TcpExtAuthz;
}

/** The stat prefix of the shadow RBAC filter, which is also the prefix of its metadata. */
export const customShadowPrefix = "istio_ext_authz_";
export const httpRbacFilter = "envoy.filters.http.rbac";
export const networkRbacFilter = "envoy.filters.network.rbac";

/** Returns the name prefix of policies with the provider. */
export function customPolicyPrefix(provider: string): string {
  return `istio-ext-authz-${provider}`;
}

const defaultTimeout = duration(600_000);
const validName = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/**
 * Returns the ext_authz filters of a provider; undefined if it does not exist or is invalid, in which case requests are
 * denied. Source: pilot/pkg/security/authz/builder/extauthz.go.
 */
export function externalAuthorization(
  name: string,
  providers: readonly ExtensionProvider[],
  lookup: ProviderLookup,
): ExternalAuthorization | undefined {
  const named = providersNamed(name, providers);
  const [only] = named;
  if (only === undefined || named.length > 1 || !validName.test(name)) return undefined;
  const { provider } = only;
  if (provider.case === "envoyExtAuthzHttp") return httpProvider(name, provider.value, lookup);
  return provider.case === "envoyExtAuthzGrpc" ? grpcProvider(name, provider.value, lookup) : undefined;
}

function providersNamed(name: string, providers: readonly ExtensionProvider[]): readonly ExtensionProvider[] {
  return providers.filter(
    ({ name: other, provider }) =>
      other === name && (provider.case === "envoyExtAuthzHttp" || provider.case === "envoyExtAuthzGrpc"),
  );
}

/** Returns the reason why {@link externalAuthorization} has no filters for a provider. */
export function problemOfProvider(name: string, providers: readonly ExtensionProvider[]): string {
  const [only, ...others] = providersNamed(name, providers);
  if (only === undefined) return "meshConfig.extensionProviders has no external authorizer of this name";
  if (others.length > 0) return "meshConfig.extensionProviders has several of this name";
  if (!validName.test(name)) return "its name is no DNS label";
  const { value } = only.provider;
  const service = value !== undefined && "service" in value ? value.service : "";
  return `its service ${JSON.stringify(service)} is not known in the mesh, or its settings are invalid`;
}

function httpProvider(name: string, provider: HttpProvider, lookup: ProviderLookup): ExternalAuthorization | undefined {
  const address = addressOf(provider, lookup);
  const { pathPrefix } = provider;
  const headerLists = [
    provider.includeRequestHeadersInCheck,
    provider.includeHeadersInCheck,
    provider.headersToDownstreamOnDeny,
    provider.headersToDownstreamOnAllow,
    provider.headersToUpstreamOnAllow,
  ];
  if (
    address === undefined ||
    (pathPrefix !== "" && !pathPrefix.startsWith("/")) ||
    headerLists.some((list) => list.includes("*"))
  )
    return undefined;
  const allowedHeaders =
    headerNames(provider.includeRequestHeadersInCheck) ?? headerNames(provider.includeHeadersInCheck);
  return {
    http: create(ExtAuthzSchema, {
      ...common(name, provider),
      services: { case: "httpService", value: httpService(provider, address) },
      ...(allowedHeaders && { allowedHeaders }),
    }),
  };
}

function httpService(provider: HttpProvider, { hostname, cluster }: ProviderAddress): HttpService {
  const added = Object.entries(provider.includeAdditionalHeadersInCheck).sort(([a], [b]) => (a < b ? -1 : 1));
  const upstream = headerNames(provider.headersToUpstreamOnAllow);
  const onDeny = headerNames(provider.headersToDownstreamOnDeny);
  const onAllow = headerNames(provider.headersToDownstreamOnAllow);
  return create(HttpServiceSchema, {
    pathPrefix: provider.pathPrefix,
    serverUri: {
      timeout: provider.timeout ?? defaultTimeout,
      uri: `http://${hostname}`,
      httpUpstreamType: { case: "cluster", value: cluster },
    },
    ...(added.length > 0 && { authorizationRequest: { headersToAdd: added.map(([key, value]) => ({ key, value })) } }),
    ...((upstream ?? onDeny ?? onAllow) && {
      authorizationResponse: {
        ...(upstream && { allowedUpstreamHeaders: upstream }),
        ...(onDeny && { allowedClientHeaders: onDeny }),
        ...(onAllow && { allowedClientHeadersOnSuccess: onAllow }),
      },
    }),
  });
}

function grpcProvider(name: string, provider: GrpcProvider, lookup: ProviderLookup): ExternalAuthorization | undefined {
  const address = addressOf(provider, lookup);
  if (address === undefined) return undefined;
  const grpcService: GrpcService = create(GrpcServiceSchema, {
    targetSpecifier: { case: "envoyGrpc", value: { clusterName: address.cluster, authority: address.hostname } },
    timeout: provider.timeout ?? defaultTimeout,
  });
  return {
    http: create(ExtAuthzSchema, { ...common(name, provider), services: { case: "grpcService", value: grpcService } }),
    tcp: create(TcpExtAuthzSchema, {
      statPrefix: "tcp.",
      failureModeAllow: provider.failOpen,
      transportApiVersion: ApiVersion.V3,
      grpcService,
      filterEnabledMetadata: enabledByPolicy(networkRbacFilter, name),
    }),
  };
}

function common(name: string, provider: HttpProvider | GrpcProvider) {
  const { statusOnError, includeRequestBodyInCheck: body } = provider;
  return {
    ...(statusOnError !== "" && { statusOnError: { code: Number(statusOnError) as StatusCode } }),
    failureModeAllow: provider.failOpen,
    transportApiVersion: ApiVersion.V3,
    filterEnabledMetadata: enabledByPolicy(httpRbacFilter, name),
    ...(body && {
      withRequestBody: {
        maxRequestBytes: body.maxRequestBytes,
        allowPartialMessage: body.allowPartialMessage,
        packAsBytes: body.packAsBytes,
      },
    }),
  };
}

/** Enables the filter for requests that match a policy of the provider in the preceding RBAC filter. */
function enabledByPolicy(rbacFilter: string, name: string) {
  return metadataMatcher(
    rbacFilter,
    [`${customShadowPrefix}shadow_effective_policy_id`],
    stringValue(prefixMatcher(customPolicyPrefix(name))),
  );
}

function addressOf(provider: HttpProvider | GrpcProvider, lookup: ProviderLookup): ProviderAddress | undefined {
  const { port, service, statusOnError } = provider;
  if (port < 1 || port > 65535 || !isStatus(statusOnError)) return undefined;
  return lookup(service, port);
}

function isStatus(text: string): boolean {
  return text === "" || (/^\d+$/.test(text) && Number(text) !== 0 && StatusCode[Number(text)] !== undefined);
}

function headerNames(names: readonly string[]): ListStringMatcher | undefined {
  if (names.length === 0) return undefined;
  return create(ListStringMatcherSchema, {
    patterns: names.map((name) =>
      name.startsWith("*")
        ? suffixMatcher(name.slice(1), true)
        : name.endsWith("*")
          ? prefixMatcher(name.slice(0, -1), true)
          : exactMatcher(name, true),
    ),
  });
}
