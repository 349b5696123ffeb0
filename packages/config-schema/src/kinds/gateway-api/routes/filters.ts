import { removedAndSet } from "../../istio/virtual-service/headers.js";
import { literalPathFault } from "../../../validation/literal-values.js";
import type { Fields } from "../../../decoding/fields.js";
import type { LocalReference } from "../references.js";
import { headerFormatFault } from "../../../validation/format-string/header-format.js";
import { maxHeaderAdditions, maxHeaderBytes } from "../../../validation/format-string/header-value.js";
import {
  anyText,
  headerNameRule,
  oneOf,
  optionalBoolean,
  optionalInteger,
  optionalText,
  preciseHostname,
  text,
  type TextRule,
  warnOfOthers,
} from "../field-rules.js";
import {
  backendObjectFields,
  type BackendObjectReference,
  decodeBackendObject,
  decodeLocalObject,
} from "./references.js";

export interface HttpHeader {
  readonly name: string;
  readonly value: string;
}

/** Changes of headers. Of entries whose names differ only in case the first one counts. */
export interface HeaderModifier {
  readonly set: readonly HttpHeader[];
  readonly add: readonly HttpHeader[];
  readonly remove: readonly string[];
}

/** A share of requests. */
export interface Fraction {
  readonly numerator: number;
  /** Default 100. */
  readonly denominator: number;
}

export interface RequestMirror {
  readonly backendRef: BackendObjectReference;
  /** 0 to 100. With neither this nor a fraction all requests are mirrored. */
  readonly percent?: number;
  readonly fraction?: Fraction;
}

export type PathModifier =
  | { readonly type: "ReplaceFullPath"; readonly replaceFullPath: string }
  | { readonly type: "ReplacePrefixMatch"; readonly replacePrefixMatch: string };

export interface RequestRedirect {
  readonly scheme?: "http" | "https";
  readonly hostname?: string;
  readonly path?: PathModifier;
  readonly port?: number;
  /** Default 302. */
  readonly statusCode: number;
}

export interface UrlRewrite {
  readonly hostname?: string;
  readonly path?: PathModifier;
}

export interface CorsFilter {
  /** Origins, with `*` for any, or for any number of labels. */
  readonly allowOrigins: readonly string[];
  readonly allowCredentials?: boolean;
  readonly allowMethods: readonly string[];
  readonly allowHeaders: readonly string[];
  readonly exposeHeaders: readonly string[];
  /** Seconds. Default 5. */
  readonly maxAge: number;
}

export interface ExternalAuth {
  readonly protocol: "HTTP" | "GRPC";
  readonly backendRef: BackendObjectReference;
}

/** A filter of an HTTPRoute or GRPCRoute. GRPCRoutes have a subset of them. */
export type RouteFilter =
  | { readonly type: "RequestHeaderModifier"; readonly requestHeaderModifier: HeaderModifier }
  | { readonly type: "ResponseHeaderModifier"; readonly responseHeaderModifier: HeaderModifier }
  | { readonly type: "RequestMirror"; readonly requestMirror: RequestMirror }
  | { readonly type: "RequestRedirect"; readonly requestRedirect: RequestRedirect }
  | { readonly type: "URLRewrite"; readonly urlRewrite: UrlRewrite }
  | { readonly type: "CORS"; readonly cors: CorsFilter }
  | { readonly type: "ExternalAuth"; readonly externalAuth: ExternalAuth }
  | { readonly type: "ExtensionRef"; readonly extensionRef: LocalReference };

export type RouteFilterType = RouteFilter["type"];

/** The field of each filter type that holds its settings. */
const fieldOf = {
  RequestHeaderModifier: "requestHeaderModifier",
  ResponseHeaderModifier: "responseHeaderModifier",
  RequestMirror: "requestMirror",
  RequestRedirect: "requestRedirect",
  URLRewrite: "urlRewrite",
  CORS: "cors",
  ExternalAuth: "externalAuth",
  ExtensionRef: "extensionRef",
} as const satisfies Readonly<Record<RouteFilterType, string>>;

export const httpFilterTypes = Object.keys(fieldOf) as readonly RouteFilterType[];

export const grpcFilterTypes: readonly RouteFilterType[] = [
  "RequestHeaderModifier",
  "ResponseHeaderModifier",
  "RequestMirror",
  "ExtensionRef",
];

/** Types of which a list has at most one. */
const unrepeated: readonly RouteFilterType[] = [
  "RequestHeaderModifier",
  "ResponseHeaderModifier",
  "RequestRedirect",
  "URLRewrite",
  "CORS",
];

/** Decodes the filters of a rule or backend. A filter whose type is not known is reported. */
export function decodeFilters(owner: Fields, types: readonly RouteFilterType[]): readonly RouteFilter[] {
  const filters = owner.list("filters").flatMap((filter) => decodeFilter(filter, types) ?? []);
  for (const type of unrepeated) {
    if (filters.filter((filter) => filter.type === type).length > 1)
      owner.fault(["filters"], filters, `at most one filter of type ${type}`);
  }
  const has = (type: RouteFilterType): boolean => filters.some((filter) => filter.type === type);
  if (has("RequestRedirect") && has("URLRewrite"))
    owner.fault(["filters"], filters, "either RequestRedirect or URLRewrite, but not both");
  return filters;
}

function decodeFilter(filter: Fields, types: readonly RouteFilterType[]): RouteFilter | undefined {
  const type = types.find((candidate) => candidate === filter.string("type"));
  if (type === undefined) {
    filter.fault(["type"], filter.string("type"), `one of ${types.join(", ")}`);
    return undefined;
  }
  warnOfOthers(filter, ["type", ...Object.values(fieldOf)]);
  for (const [other, field] of Object.entries(fieldOf))
    if (other !== type && filter.has(field)) filter.fault([field], {}, `no ${field} in a filter of type ${type}`);
  const settings = filter.object(fieldOf[type]);
  if (!settings.present) {
    filter.fault([fieldOf[type]], undefined, "the settings of the filter");
    return undefined;
  }
  return decodeSettings(type, settings);
}

function decodeSettings(type: RouteFilterType, settings: Fields): RouteFilter | undefined {
  switch (type) {
    case "RequestHeaderModifier":
      return { type, requestHeaderModifier: decodeHeaderModifier(settings) };
    case "ResponseHeaderModifier":
      return { type, responseHeaderModifier: decodeHeaderModifier(settings) };
    case "RequestMirror":
      return { type, requestMirror: decodeMirror(settings) };
    case "RequestRedirect":
      return { type, requestRedirect: decodeRedirect(settings) };
    case "URLRewrite":
      warnOfOthers(settings, ["hostname", "path"]);
      return {
        type,
        urlRewrite: { ...optionalText(settings, "hostname", preciseHostname), ...decodePath(settings, rewritten) },
      };
    case "CORS":
      return { type, cors: decodeCors(settings) };
    case "ExternalAuth":
      return { type, externalAuth: decodeExternalAuth(settings) };
    case "ExtensionRef":
      return { type, extensionRef: decodeLocalObject(settings) };
  }
}

function decodeHeaderModifier(settings: Fields): HeaderModifier {
  warnOfOthers(settings, ["set", "add", "remove"]);
  const modifier = {
    set: decodeHeaders(settings, "set"),
    add: decodeHeaders(settings, "add"),
    remove: settings.strings("remove"),
  };
  const additions = modifier.set.length + modifier.add.length;
  if (additions > maxHeaderAdditions)
    settings.fault([], additions, `at most ${maxHeaderAdditions} headers to set and add`);
  // The API has no rule for these names.
  const replaced = new Set(modifier.set.map(({ name }) => name.toLowerCase()));
  for (const [i, name] of modifier.remove.entries()) {
    if (name === "" || /[\0\r\n]/.test(name)) settings.fault(["remove", i], name, headerNameRule.expected);
    else if (replaced.has(name.toLowerCase())) settings.warn(["remove", i], removedAndSet(name), "no-effect");
  }
  return modifier;
}

function decodeHeaders(settings: Fields, field: "set" | "add"): readonly HttpHeader[] {
  return settings.list(field).map((header) => {
    const value = text(header, "value", anyText, "required");
    const fault = headerFormatFault(value);
    if (fault !== undefined) header.fault(["value"], value, `a format string of Envoy, but it ${fault}`);
    if (Buffer.byteLength(value) > maxHeaderBytes)
      header.fault(["value"], value, `at most ${maxHeaderBytes} bytes, which proxies accept`);
    return { name: text(header, "name", headerNameRule, "required"), value };
  });
}

function decodeMirror(settings: Fields): RequestMirror {
  warnOfOthers(settings, ["backendRef", "percent", "fraction"]);
  if (settings.has("percent") && settings.has("fraction"))
    settings.fault(["fraction"], {}, "either percent or fraction, but not both");
  const ref = settings.object("backendRef");
  if (!ref.present) settings.fault(["backendRef"], undefined, "a backend");
  warnOfOthers(ref, backendObjectFields);
  const share = {
    ...optionalInteger(settings, "percent", 0, 100),
    ...(settings.has("fraction") && { fraction: decodeFraction(settings.object("fraction")) }),
  };
  if (share.percent === 0 || share.fraction?.numerator === 0)
    settings.warn([share.percent === 0 ? "percent" : "fraction"], "is 0, so that no request is mirrored", "no-effect");
  return { backendRef: decodeBackendObject(ref), ...share };
}

const maxInt32 = 2 ** 31 - 1;

function decodeFraction(fraction: Fields): Fraction {
  const { numerator = 0 } = optionalInteger(fraction, "numerator", 0, maxInt32);
  const { denominator = 100 } = optionalInteger(fraction, "denominator", 1, maxInt32);
  if (numerator > denominator) fraction.fault(["numerator"], numerator, `at most the denominator, ${denominator}`);
  return { numerator, denominator };
}

const redirectCodes = [301, 302, 303, 307, 308];

function decodeRedirect(settings: Fields): RequestRedirect {
  warnOfOthers(settings, ["scheme", "hostname", "path", "port", "statusCode"]);
  const statusCode = settings.integer("statusCode") ?? 302;
  if (!redirectCodes.includes(statusCode))
    settings.fault(["statusCode"], statusCode, `one of ${redirectCodes.join(", ")}`);
  return {
    ...(settings.has("scheme") && { scheme: oneOf(settings, "scheme", ["http", "https"]) }),
    ...optionalText(settings, "hostname", preciseHostname),
    ...decodePath(settings, () => "sent after the host of the redirect as it is"),
    ...optionalInteger(settings, "port", 1, 65_535),
    statusCode,
  };
}

const path: TextRule = {
  isValid: (value) => value.length <= 1024 && !/[\u0000-\u001f\u007f]/.test(value),
  expected: "a path of at most 1024 characters",
};

/** Describes how proxies send the path of a rewrite. */
function rewritten(type: PathModifier["type"]): string {
  return type === "ReplaceFullPath" ? "sent as the path" : "sent as the beginning of the path";
}

function decodePath(settings: Fields, use: (type: PathModifier["type"]) => string): { readonly path?: PathModifier } {
  const modifier = settings.object("path");
  if (!modifier.present) return {};
  warnOfOthers(modifier, ["type", "replaceFullPath", "replacePrefixMatch"]);
  const type = oneOf(modifier, "type", ["ReplaceFullPath", "ReplacePrefixMatch"]);
  const [field, other] =
    type === "ReplaceFullPath"
      ? (["replaceFullPath", "replacePrefixMatch"] as const)
      : (["replacePrefixMatch", "replaceFullPath"] as const);
  if (!modifier.has("type")) modifier.fault(["type"], undefined, "ReplaceFullPath or ReplacePrefixMatch");
  if (!modifier.has(field)) modifier.fault([field], undefined, `the path that ${type} needs`);
  if (modifier.has(other)) modifier.fault([other], modifier.string(other), `no ${other} with type ${type}`);
  const value = text(modifier, field, path, "optional");
  const fault = literalPathFault(value, { sent: use(type), hostField: "hostname" });
  if (fault !== undefined) modifier.warn([field], fault, "literal");
  return {
    path: type === "ReplaceFullPath" ? { type, replaceFullPath: value } : { type, replacePrefixMatch: value },
  };
}

const methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "*"];

/** An origin with a scheme, or `*`. A `*` in it stands for any text. */
const origin = /^(?:\*|[a-zA-Z][a-zA-Z0-9+.-]*:\/\/[a-zA-Z0-9*.-]+(?::[0-9*]{1,5})?)$/;

/** As in the API. It bounds the program of the pattern that an origin with a `*` becomes. */
const maxOriginLength = 253;

function decodeCors(settings: Fields): CorsFilter {
  const lists = ["allowOrigins", "allowMethods", "allowHeaders", "exposeHeaders"] as const;
  warnOfOthers(settings, [...lists, "allowCredentials", "maxAge"]);
  const cors = {
    allowOrigins: settings.strings("allowOrigins"),
    ...optionalBoolean(settings, "allowCredentials"),
    allowMethods: settings.strings("allowMethods"),
    allowHeaders: settings.strings("allowHeaders"),
    exposeHeaders: settings.strings("exposeHeaders"),
    maxAge: optionalInteger(settings, "maxAge", 1, maxInt32).maxAge ?? 5,
  };
  const check = (name: (typeof lists)[number], isValid: (value: string) => boolean, expected: string): void => {
    for (const [i, value] of cors[name].entries()) if (!isValid(value)) settings.fault([name, i], value, expected);
  };
  check(
    "allowOrigins",
    (value) => value.length <= maxOriginLength && origin.test(value),
    `* or an origin, such as https://*.example.com, of at most ${maxOriginLength} characters`,
  );
  check("allowMethods", (value) => methods.includes(value), `one of ${methods.join(", ")}`);
  check("allowHeaders", headerNameRule.isValid, headerNameRule.expected);
  check("exposeHeaders", headerNameRule.isValid, headerNameRule.expected);
  for (const name of ["allowOrigins", "allowMethods", "allowHeaders"] as const)
    if (cors[name].length > 1 && cors[name].includes("*")) settings.fault([name], cors[name], "* alone, or others");
  if (cors.allowCredentials === true && cors.allowOrigins.some((value) => /^(https?:\/\/)?\*$/.test(value)))
    settings.warn(
      ["allowOrigins"],
      "allows every website to act with the credentials of its visitors, because allowCredentials is true: proxies answer with the origin of the request, not with *; expected the trusted origins",
      "cors",
    );
  return cors;
}

function decodeExternalAuth(settings: Fields): ExternalAuth {
  warnOfOthers(settings, ["protocol", "backendRef", "grpc", "http", "forwardBody"]);
  const protocol = oneOf(settings, "protocol", ["HTTP", "GRPC"]);
  if (!settings.has("protocol")) settings.fault(["protocol"], undefined, "HTTP or GRPC");
  return { protocol, backendRef: decodeBackendObject(settings.object("backendRef")) };
}
