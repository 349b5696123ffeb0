import { expect, it } from "vitest";
import { joinUrl } from "../../src/telemetry/join-url.js";

it.each([
  ["", "otel.obs"],
  ["/", "otel.obs/"],
  ["/v1/traces", "otel.obs/v1/traces"],
  ["v1//traces/", "otel.obs/v1/traces/"],
  ["v1/./traces/../logs", "otel.obs/v1/logs"],
  ["a b", "otel.obs/a%20b"],
  ["a%20b%2fc", "otel.obs/a%20b%2fc"],
  ["ü?x=1#y", "otel.obs/%C3%BC%3Fx=1%23y"],
  ["a b%2F%41!", "otel.obs/a%20b/A%21"],
  ["(a)[b]*", "otel.obs/(a)[b]*"],
])("the path %j leads to %s", (path, url) => {
  expect(joinUrl("otel.obs", path)).toBe(url);
});

it.each(["%", "a%2", "%zz/b"])("a percent sign that begins no escape leads nowhere: %j", (path) => {
  expect(joinUrl("otel.obs", path)).toBeUndefined();
});
