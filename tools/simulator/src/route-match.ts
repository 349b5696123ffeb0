import type { RuntimeFractionalPercent } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { FractionalPercent_DenominatorType as DenominatorType } from "@istiod/envoy-api/envoy/type/v3/percent";
import type { StringMatcher } from "@istiod/envoy-api/envoy/type/matcher/v3/string";
import type {
  HeaderMatcher,
  QueryParameterMatcher,
  RouteMatch,
} from "@istiod/envoy-api/envoy/config/route/v3/route_components";

/** Properties of a request that a route can match. */
export interface Request {
  /** With its query. */
  readonly path: string;
  /** Names in lower case, `:authority` and the like among them. */
  readonly headers: Readonly<Record<string, string>>;
  /** Envoy's random number of the request, an integer from 0, which is the same for all its routes. */
  readonly random: number;
}

/**
 * Reports whether a route matches a request by path, headers, query parameters and its random number. Conditions that a
 * {@link Request} cannot express (metadata, client certificates) do not match.
 */
export function matchesRoute(match: RouteMatch, request: Request): boolean {
  const [path = "", query = ""] = splitQuery(request.path);
  if (match.dynamicMetadata.length > 0 || match.tlsContext !== undefined) return false;
  if (match.runtimeFraction !== undefined && !isInFraction(match.runtimeFraction, request.random)) return false;
  if (match.grpc !== undefined && !/^application\/grpc(\+|$)/.test(request.headers["content-type"] ?? "")) return false;
  const parameters = new URLSearchParams(query);
  return (
    matchesPath(match, path) &&
    match.headers.every((header) => matchesHeader(header, request.headers)) &&
    match.queryParameters.every((parameter) => matchesParameter(parameter, parameters))
  );
}

const denominators = {
  [DenominatorType.HUNDRED]: 100,
  [DenominatorType.TEN_THOUSAND]: 10_000,
  [DenominatorType.MILLION]: 1_000_000,
} as const;

/** Reports whether a fraction includes a request. The runtime of Envoy does not override its default. */
function isInFraction({ defaultValue }: RuntimeFractionalPercent, random: number): boolean {
  if (defaultValue === undefined) return false;
  return random % denominators[defaultValue.denominator] < defaultValue.numerator;
}

function matchesPath({ pathSpecifier, caseSensitive }: RouteMatch, path: string): boolean {
  const fold = (text: string): string => (caseSensitive === false ? text.toLowerCase() : text);
  switch (pathSpecifier.case) {
    case "prefix":
      return fold(path).startsWith(fold(pathSpecifier.value));
    case "path":
      return fold(path) === fold(pathSpecifier.value);
    case "pathSeparatedPrefix":
      return fold(path) === fold(pathSpecifier.value) || fold(path).startsWith(`${fold(pathSpecifier.value)}/`);
    case "safeRegex":
      return matchesWhole(pathSpecifier.value.regex, path);
    default:
      return false;
  }
}

function matchesHeader(
  { name, headerMatchSpecifier: specifier, invertMatch, treatMissingHeaderAsEmpty }: HeaderMatcher,
  headers: Request["headers"],
): boolean {
  const value = headers[name.toLowerCase()] ?? (treatMissingHeaderAsEmpty ? "" : undefined);
  if (specifier.case === "presentMatch") return ((value !== undefined) === specifier.value) !== invertMatch;
  if (value === undefined) return specifier.case === undefined ? invertMatch : false;
  switch (specifier.case) {
    case undefined:
      return !invertMatch;
    case "stringMatch":
      return matchesString(specifier.value, value) !== invertMatch;
    case "rangeMatch": {
      const number = /^[+-]?\d+$/.test(value) ? BigInt(value) : undefined;
      return (number !== undefined && number >= specifier.value.start && number < specifier.value.end) !== invertMatch;
    }
    default:
      throw new Error(`header ${name}: ${specifier.case} is not simulated`);
  }
}

function matchesParameter(
  { name, queryParameterMatchSpecifier: specifier }: QueryParameterMatcher,
  parameters: URLSearchParams,
): boolean {
  const value = parameters.get(name);
  switch (specifier.case) {
    case "presentMatch":
      return (value !== null) === specifier.value;
    case "stringMatch":
      return value !== null && matchesString(specifier.value, value);
    default:
      return value !== null;
  }
}

function matchesString({ matchPattern: pattern, ignoreCase }: StringMatcher, value: string): boolean {
  const fold = (text: string): string => (ignoreCase ? text.toLowerCase() : text);
  switch (pattern.case) {
    case "exact":
      return fold(value) === fold(pattern.value);
    case "prefix":
      return fold(value).startsWith(fold(pattern.value));
    case "suffix":
      return fold(value).endsWith(fold(pattern.value));
    case "contains":
      return fold(value).includes(fold(pattern.value));
    case "safeRegex":
      return matchesWhole(pattern.value.regex, value);
    default:
      throw new Error(`a string match by ${pattern.case ?? "nothing"} is not simulated`);
  }
}

function matchesWhole(regex: string, text: string): boolean {
  return new RegExp(`^(?:${regex})$`).test(text);
}

function splitQuery(path: string): readonly string[] {
  const at = path.indexOf("?");
  return at < 0 ? [path] : [path.slice(0, at), path.slice(at + 1)];
}
