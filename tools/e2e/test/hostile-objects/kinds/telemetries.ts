import fc from "fast-check";
import { object } from "./manifest.js";
import { durations, from, headerNames, list, percents, some, texts } from "../values.js";

export const telemetry = object(
  "telemetry.istio.io/v1",
  "Telemetry",
  some({
    tracing: list(
      some({
        randomSamplingPercentage: percents,
        customTags: fc.dictionary(
          texts,
          fc.oneof(
            texts.map((value) => ({ literal: { value } })),
            texts.map((value) => ({ formatter: { value } })),
            texts.map((name) => ({ environment: { name } })),
            headerNames.map((name) => ({ header: { name } })),
          ),
          { maxKeys: 2 },
        ),
        providers: list(fc.record({ name: from("zipkin", "otel") }), 1),
      }),
      1,
    ),
    accessLogging: list(
      some({
        filter: some({
          expression: from(
            "response.code >= 400",
            "a.b.c",
            "1",
            "size(request.headers) > 1 && x",
            "'a' in request",
            "[1].exists(x, x)",
            "duration('x')",
            "a".repeat(9000),
            "request.headers['a'].matches('\\\\pL{1,50}')",
          ),
        }),
        providers: list(fc.record({ name: from("envoy", "format", "json", "als") }), 2),
        disabled: fc.boolean(),
      }),
      2,
    ),
    metrics: list(
      some({
        providers: list(fc.record({ name: from("prometheus") }), 1),
        overrides: list(
          some({
            match: some({ metric: from("REQUEST_COUNT", "ALL_METRICS"), customMetric: texts }),
            tagOverrides: fc.dictionary(texts, some({ operation: from("UPSERT", "REMOVE"), value: texts }), {
              maxKeys: 2,
            }),
            disabled: fc.boolean(),
          }),
        ),
        reportingInterval: durations,
      }),
      1,
    ),
  }),
);
