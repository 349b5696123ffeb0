import { describe, expect, test } from "vitest";
import { decode } from "../src/index.js";

/** Returns the messages about an Ingress with a path. */
function ofIngress(path: string, pathType = "Prefix"): readonly string[] {
  const backend = { service: { name: "cart", port: { number: 80 } } };
  return decode({
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: { name: "a", namespace: "shop" },
    spec: { rules: [{ http: { paths: [{ path, pathType, backend }] } }] },
  }).flatMap(({ issues }) => issues.map(({ message }) => message));
}

describe("a path of an Ingress", () => {
  test.each(["/odata/Products($count)", "/a(b+c)*", "/a(1,2)", "/a+b", "/a$", "/a|b", "/items[0]", "/a*b", "/a.b(c)"])(
    "%j is not a pattern",
    (path) => {
      expect(ofIngress(path)).toEqual([]);
      expect(ofIngress(path, "Exact")).toEqual([]);
    },
  );

  test.each([
    "/a(/|$)(.*)",
    "/a/(.*)",
    "/a(.+)",
    "/a(/.*)",
    "/[^/]+",
    "/\\d+",
    "^/a",
    "/[a-z0-9]",
    "/[0-9]+",
    "/(a|b)",
  ])("%j is a pattern", (path) => {
    const fault = `is ${JSON.stringify(path)}, which is compared as it is, not as a pattern, expected a prefix; patterns need a VirtualService or an HTTPRoute`;
    expect(ofIngress(path, "Exact")).toEqual([fault]);
  });
});
