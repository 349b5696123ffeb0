import fc from "fast-check";
import {
  durations,
  from,
  headerNames,
  hosts,
  labels,
  list,
  numbers,
  percents,
  ports,
  regexes,
  some,
  stringMatch,
  subset,
  texts,
} from "../values.js";

export const destination = some({ host: hosts, subset, port: fc.record({ number: ports }) }, ["host"]);
const headers = some({
  set: fc.dictionary(headerNames, texts, { maxKeys: 2 }),
  add: fc.dictionary(headerNames, texts, { maxKeys: 2 }),
  remove: list(headerNames),
});
const bothHeaders = some({ request: headers, response: headers });
const retries = some({
  attempts: numbers,
  perTryTimeout: durations,
  retryOn: from("5xx", "503", "", "reset,,x", "100", "700", "retriable-status-codes"),
  retryRemoteLocalities: fc.boolean(),
  retryIgnorePreviousHosts: fc.boolean(),
  backoff: durations,
});
const fault = some({
  delay: some({ fixedDelay: durations, percentage: fc.record({ value: percents }), percent: numbers }),
  abort: some({
    httpStatus: from(0, 100, 200, 503, 600, 601),
    grpcStatus: from("NOT_FOUND", "x"),
    percentage: fc.record({ value: percents }),
  }),
});
const cors = some({
  allowOrigins: list(stringMatch),
  allowMethods: list(from("GET", "*", "x y")),
  allowHeaders: list(headerNames),
  exposeHeaders: list(headerNames),
  maxAge: durations,
  allowCredentials: fc.boolean(),
});
const httpMatch = some({
  uri: stringMatch,
  scheme: stringMatch,
  method: stringMatch,
  authority: stringMatch,
  headers: fc.dictionary(headerNames, stringMatch, { maxKeys: 2 }),
  withoutHeaders: fc.dictionary(headerNames, stringMatch, { maxKeys: 2 }),
  queryParams: fc.dictionary(texts, stringMatch, { maxKeys: 2 }),
  port: ports,
  ignoreUriCase: fc.boolean(),
  name: texts,
  statPrefix: texts,
  sourceLabels: labels,
  gateways: list(from("mesh", "shop/gw", "gw")),
});
const weights = from(0, 1, 2, 100, 2_147_483_647, 1_431_655_766);
const weighted = list(some({ destination, weight: weights, headers: bothHeaders }, ["destination"]), 3);
export const plainWeighted = list(some({ destination, weight: weights }, ["destination"]), 3);
const httpAction = fc.oneof(
  { weight: 3, arbitrary: weighted.map((route) => ({ route })) },
  {
    weight: 1,
    arbitrary: some({
      uri: texts,
      authority: texts,
      scheme: from("http", "x"),
      port: numbers,
      redirectCode: from(0, 300, 301, 399),
      prefixRewrite: texts,
      derivePort: from("FROM_REQUEST_PORT"),
    }).map((redirect) => ({ redirect })),
  },
  {
    weight: 1,
    arbitrary: some(
      {
        status: from(0, 100, 200, 503, 599, 600, 601),
        body: fc.oneof(
          texts.map((string) => ({ string })),
          fc.constant({ bytes: "AA==" }),
          fc.constant({ string: "y".repeat(1_100_000) }),
        ),
      },
      ["status"],
    ).map((directResponse) => ({ directResponse })),
  },
);
export const httpRoute = fc
  .tuple(
    some({
      name: texts,
      match: list(httpMatch),
      headers: bothHeaders,
      timeout: durations,
      retries,
      fault,
      corsPolicy: cors,
      mirror: destination,
      mirrorPercentage: fc.record({ value: percents }),
      rewrite: some({ uri: texts, authority: texts, uriRegexRewrite: some({ match: regexes, rewrite: texts }) }),
    }),
    httpAction,
  )
  .map(([route, action]) => ({ ...route, ...action }));
