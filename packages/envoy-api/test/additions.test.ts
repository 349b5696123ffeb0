import { describe, expect, it } from "vitest";
import { registry } from "@istiod/envoy-api/registry";
import { withAdditions } from "../tool/additions.mjs";

const number = (message: string, field: string): number | undefined =>
  registry.getMessage(message)?.fields.find(({ name }) => name === field)?.number;

describe("fields newer than the published protos", () => {
  it.each([
    ["envoy.config.cluster.v3.Cluster", "dns_jitter", 58],
    ["envoy.config.cluster.v3.CircuitBreakers.Thresholds.RetryBudget", "budget_interval", 3],
    ["envoy.config.trace.v3.ZipkinConfig", "collector_service", 9],
    ["envoy.type.tracing.v3.CustomTag", "value", 6],
    ["envoy.extensions.upstreams.http.v3.HttpProtocolOptions", "outlier_detection", 8],
    ["envoy.extensions.wasm.v3.PluginConfig", "failure_policy", 7],
    ["envoy.extensions.filters.network.mysql_proxy.v3.MySQLProxy", "stat_prefix", 1],
  ])("%s has %s", (message, field, expected) => {
    expect(number(message, field)).toBe(expected);
  });
});

describe("the table of additions", () => {
  const file = "envoy/type/tracing/v3/custom_tag.proto";
  const source =
    'syntax = "proto3";\npackage envoy.type.tracing.v3;\nmessage CustomTag {\n  message Literal { string value = 1; }\n  oneof type {\n    Literal literal = 2;\n  }\n}\n';

  it("adds a field to its message", () => {
    expect(withAdditions(file, source)).toMatch(/oneof type \{\s*string value = 6;/);
  });

  it("leaves files unchanged that already have the field or have no additions", () => {
    const newer = source.replace("Literal literal = 2;", "Literal literal = 2;\n    string value = 6;");
    expect(withAdditions(file, newer)).toBe(newer);
    expect(withAdditions("other.proto", source)).toBe(source);
  });

  it("fails if the message to extend does not exist", () => {
    expect(() => withAdditions(file, source.replace("message CustomTag", "message Renamed"))).toThrow(
      "message CustomTag is not there",
    );
  });
});
