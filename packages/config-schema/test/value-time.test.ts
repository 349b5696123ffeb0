import { describe, expect, test } from "vitest";
import { decode } from "../src/index.js";

/** Returns the messages about a document, which must be found in linear time: quadratic time would be minutes. */
function messagesSoon(kind: string, apiVersion: string, spec: object): readonly string[] {
  const document = { apiVersion, kind, metadata: { name: "a", namespace: "shop" }, spec };
  const start = performance.now();
  const messages = decode(document).flatMap(({ issues }) => issues.map(({ message }) => message));
  expect(performance.now() - start).toBeLessThan(4000);
  return messages;
}

const backend = { service: { name: "cart", port: { number: 80 } } };
const ofIngress = (path: string, pathType = "Prefix"): readonly string[] =>
  messagesSoon("Ingress", "networking.k8s.io/v1", { rules: [{ http: { paths: [{ path, pathType, backend }] } }] });
const ofRoute = (match: object): readonly string[] =>
  messagesSoon("HTTPRoute", "gateway.networking.k8s.io/v1", { parentRefs: [{ name: "edge" }], rules: [match] });
const ofPolicy = (operation: object): readonly string[] =>
  messagesSoon("AuthorizationPolicy", "security.istio.io/v1", { rules: [{ to: [{ operation }] }] });
const ofVirtualService = (http: object): readonly string[] =>
  messagesSoon("VirtualService", "networking.istio.io/v1", { hosts: ["cart"], http: [http] });

/** Returns a text of a million characters. */
const many = (text: string): string => text.repeat(1_000_000 / text.length);

describe("long paths take linear time", () => {
  const parts = ["(", "(|", "(|||||||||", "(.", "[", "[^", "[a-z", "[a", "(*", "(+", "*", "/*", "/**a", "|", "(a$"];
  test.each(parts)("of %j", (part) => {
    for (const end of ["a", "/*", "]a"]) {
      const path = `/${many(part)}${end}`;
      ofIngress(path);
      ofIngress(path, "Exact");
      ofPolicy({ paths: [path], hosts: [path], methods: [path] });
      ofRoute({ matches: [{ path: { type: "PathPrefix", value: path } }] });
    }
  });

  test("with asterisks within and at their end", () => {
    const path = `/${many("*")}a/${many("*")}`;
    const fault = [
      expect.stringMatching(/^is "\/\*+…", whose \* only matches an asterisk, expected prefix "\/\*+…"$/) as string,
    ];
    expect(ofIngress(path)).toEqual(fault);
    expect(ofRoute({ matches: [{ path: { type: "PathPrefix", value: path } }] })).toEqual(fault);
  });

  test("with a group after them", () => {
    expect(ofIngress(`/${many("(")}(/|$)`)).toEqual([expect.stringContaining("not as a pattern")]);
  });
});

test("long redirects and rewrites take linear time", () => {
  for (const uri of [`a://${many("x")}/\n`, `a://${many("x\n")}`, many("a:"), many("a")]) {
    ofVirtualService({ redirect: { uri, authority: uri } });
    ofRoute({
      filters: [
        { type: "RequestRedirect", requestRedirect: { path: { type: "ReplaceFullPath", replaceFullPath: uri } } },
      ],
    });
  }
});

test("many target ports take linear time", () => {
  const targetPorts = Array.from({ length: 200_000 }, (_, i) => ({ number: 1 + (i % 65_535) }));
  const spec = {
    selector: { matchLabels: { app: "a" } },
    targetPorts,
    endpointPickerRef: { name: "p", port: { number: 9 } },
  };
  expect(messagesSoon("InferencePool", "inference.networking.k8s.io/v1", spec)).toEqual([
    expect.stringContaining("expected 1 to 8 ports"),
  ]);
});
