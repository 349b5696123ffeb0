import type { Duration } from "@bufbuild/protobuf/wkt";
import {
  MeshConfig_AccessLogEncoding as Encoding,
  type MeshConfig,
  type MeshConfig_ExtensionProvider as ExtensionProvider,
  type MeshConfig_ExtensionProvider_EnvoyExternalAuthorizationHttpProvider as HttpAuthorizer,
  type MeshConfig_ExtensionProvider_HttpHeader as ProviderHeader,
  type MeshConfig_ExtensionProvider_OpenTelemetryTracingProvider as OpenTelemetryProvider,
} from "@istiod/istio-api/mesh/v1alpha1/config";
import { record } from "../decoding/json.js";
import { checkFormatString, checkStructuredFormat } from "../validation/format-string/format-string.js";
import { checkSentHeader, checkSentMetadata } from "../validation/format-string/header-value.js";
import { formatDuration, nanoseconds } from "../validation/durations.js";
import { each, type Place } from "../validation/place.js";

/** Access logs have the operator for a path without its query. */
const accessLog = { pathWithoutQuery: true } as const;

/** Envoy's exclusive upper bound of a timeout for requests to a service. */
const timeoutLimit = 2n ** 32n * 1_000_000_000n;

/**
 * Checks what an extension provider sends to Envoy as it is: formats, headers and bounds. A fault rejects the mesh
 * configuration, because Envoy would reject every listener that uses the provider.
 */
export function checkProviderFormats({ provider }: Pick<ExtensionProvider, "provider">, place: Place): void {
  switch (provider.case) {
    case "envoyFileAccessLog": {
      const format = provider.value.logFormat?.logFormat;
      const at = place.at("logFormat");
      if (format?.case === "text") checkFormatString(format.value, at.at("text"), accessLog);
      else if (format?.case === "labels") checkStructuredFormat(format.value, at.at("labels"), accessLog);
      return;
    }
    case "envoyOtelAls": {
      const { text = "", labels = {} } = provider.value.logFormat ?? {};
      checkFormatString(text, place.at("logFormat", "text"), accessLog);
      for (const [key, value] of Object.entries(labels))
        if (typeof value === "string") checkFormatString(value, place.at("logFormat", "labels", key), accessLog);
      return;
    }
    case "envoyExtAuthzHttp":
      return checkHttpAuthorizer(provider.value, place);
    case "envoyExtAuthzGrpc":
      checkTimeout(provider.value.timeout, place.at("timeout"));
      return checkRequestBody(provider.value.includeRequestBodyInCheck, place.at("includeRequestBodyInCheck"));
    case "zipkin":
      checkTimeout(provider.value.timeout, place.at("timeout"));
      return checkHeaders(provider.value.headers, place.at("headers"));
    case "opentelemetry":
      return checkOpenTelemetry(provider.value, place);
    default:
  }
}

/**
 * Checks the mesh's own format of access logs: a text, or JSON if the encoding is JSON. As in Istio, the default format
 * applies if it is not a JSON object.
 */
export function checkAccessLogFormat({ accessLogFormat, accessLogEncoding }: MeshConfig, place: Place): void {
  const at = place.at("accessLogFormat");
  if (accessLogEncoding !== Encoding.JSON) return checkFormatString(accessLogFormat, at, accessLog);
  if (accessLogFormat === "") return;
  let format: unknown;
  try {
    format = JSON.parse(accessLogFormat);
  } catch {
    format = undefined;
  }
  if (record(format) !== undefined) checkStructuredFormat(format, at, accessLog);
  else
    at.warning(
      "has no effect: it is not a JSON object, which the encoding JSON needs, so that the default format is used",
    );
}

function checkHttpAuthorizer(provider: HttpAuthorizer, place: Place): void {
  checkTimeout(provider.timeout, place.at("timeout"));
  checkRequestBody(provider.includeRequestBodyInCheck, place.at("includeRequestBodyInCheck"));
  for (const [name, value] of Object.entries(provider.includeAdditionalHeadersInCheck)) {
    const at = place.at("includeAdditionalHeadersInCheck", name);
    checkSentHeader(name, value, at);
    if (name.startsWith(":") || name.toLowerCase() === "host")
      at.error(`is ${name}, expected a header that may be added`);
  }
}

function checkRequestBody(body: { readonly maxRequestBytes: number } | undefined, place: Place): void {
  if (body?.maxRequestBytes === 0) place.at("maxRequestBytes").error("is 0 or missing, expected at least 1");
}

function checkOpenTelemetry({ http, grpc, sampling }: OpenTelemetryProvider, place: Place): void {
  checkTimeout(http?.timeout, place.at("http", "timeout"));
  checkHeaders(http?.headers ?? [], place.at("http", "headers"));
  checkPath(http?.path ?? "", place.at("http", "path"));
  checkTimeout(grpc?.timeout, place.at("grpc", "timeout"));
  each(grpc?.initialMetadata ?? [], place.at("grpc", "initialMetadata"), (header, at) =>
    checkSentMetadata(header.name, literalValue(header), at),
  );
  const own = sampling.case === "dynatraceSampler" ? sampling.value.httpService?.http : undefined;
  const at = place.at("dynatraceSampler", "httpService", "http");
  checkTimeout(own?.timeout, at.at("timeout"));
  checkHeaders(own?.headers ?? [], at.at("headers"));
  checkPath(own?.path ?? "", at.at("path"));
}

/** A path with such a fault leaves its provider without effect, as in Istio. */
function checkPath(path: string, place: Place): void {
  const [fault] = /%(?![0-9A-Fa-f]{2}).{0,2}/u.exec(path) ?? [];
  if (fault !== undefined)
    place.warning(`has "${fault}", expected %25 for a percent sign, so that nothing is traced with this provider`);
}

function checkHeaders(headers: readonly ProviderHeader[], place: Place): void {
  each(headers, place, (header, at) => checkSentHeader(header.name, literalValue(header), at));
}

/** Returns a header's value; empty if it is that of an environment variable, which the generator makes safe. */
function literalValue({ headerValue }: ProviderHeader): string {
  return headerValue.case === "value" ? headerValue.value : "";
}

function checkTimeout(timeout: Duration | undefined, place: Place): void {
  const length = nanoseconds(timeout);
  if (length < 0n || length >= timeoutLimit)
    place.error(`is ${formatDuration(timeout)}, expected 0s to less than 4294967296s`);
  else if (length > 0n && length < 1_000_000n)
    place.warning(`is ${formatDuration(timeout)}, which proxies take as 0s, so without a limit; expected at least 1ms`);
}
