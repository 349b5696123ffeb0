import { hostname } from "node:os";
import { crossSiteReason, mayChangeState } from "@istiod/admin-server";
import { describe, expect, it } from "vitest";

const request = (headers: Record<string, string>, from = "127.0.0.1", method = "GET") => ({
  headers,
  socket: { remoteAddress: from },
  method,
});

describe("crossSiteReason", () => {
  it.each([
    ["localhost:15014"],
    ["127.0.0.1:8080"],
    ["[::1]:8080"],
    ["10.0.0.7"],
    ["LOCALHOST."],
    ["status.localhost:80"],
    [hostname()],
    ["istiod.example.com"],
  ])("allows host %s from this machine", (host) => {
    expect(crossSiteReason(request({ host }), ["istiod.example.com"])).toBeUndefined();
  });

  it.each([
    ["rebound.example.com:8080", 'host "rebound.example.com:8080" is not allowed: use localhost or an IP address'],
    ["localhost.example.com", 'host "localhost.example.com" is not allowed: use localhost or an IP address'],
    ["127.0.0.1.example.com", 'host "127.0.0.1.example.com" is not allowed: use localhost or an IP address'],
    ["a b", 'host "a b" is not allowed: use localhost or an IP address'],
  ])("rejects host %s from this machine", (host, reason) => {
    expect(crossSiteReason(request({ host }))).toBe(reason);
  });

  it("shows at most 100 characters of a host", () => {
    expect(crossSiteReason(request({ host: "x".repeat(5000) }))).toHaveLength(
      'host "" is not allowed: use localhost or an IP address'.length + 100,
    );
  });

  it("allows any host to callers of other machines, which are not trusted by their address", () => {
    expect(crossSiteReason(request({ host: "istiod.istio-system.svc:15014" }, "10.0.0.9"))).toBeUndefined();
  });

  it("allows requests without a host: HTTP/1.0, not a browser", () => {
    expect(crossSiteReason(request({}))).toBeUndefined();
  });

  it("rejects other origins, from any address", () => {
    const headers = { host: "localhost:8080", origin: "http://localhost:3000" };
    expect(crossSiteReason(request(headers))).toBe('requests from origin "http://localhost:3000" are not allowed');
    expect(crossSiteReason(request(headers, "10.0.0.9"))).toBe(
      'requests from origin "http://localhost:3000" are not allowed',
    );
    expect(crossSiteReason(request({ host: "localhost:8080", origin: "null" }))).toBe(
      'requests from origin "null" are not allowed',
    );
    expect(crossSiteReason(request({ ...headers, origin: "http://localhost:8080" }))).toBeUndefined();
  });

  it.each([
    ["cross-site", "no-cors", "requests from other sites are not allowed"],
    ["same-site", "no-cors", "requests from other sites are not allowed"],
    ["cross-site", "navigate", undefined],
    ["same-origin", "cors", undefined],
    ["none", "navigate", undefined],
  ])("Sec-Fetch-Site %s with mode %s: %s", (site, mode, reason) => {
    const headers = { host: "localhost", "sec-fetch-site": site, "sec-fetch-mode": mode };
    expect(crossSiteReason(request(headers))).toBe(reason);
  });
});

describe("mayChangeState", () => {
  it.each<[string, Record<string, string>, string, boolean]>([
    ["POST", {}, "10.0.0.9", true],
    ["GET", {}, "127.0.0.1", true],
    ["GET", {}, "10.0.0.9", false],
    ["GET", { "sec-fetch-site": "none" }, "127.0.0.1", true],
    ["GET", { "sec-fetch-site": "cross-site" }, "127.0.0.1", false],
    ["GET", { "sec-fetch-site": "same-origin" }, "127.0.0.1", false],
    ["GET", { referer: "http://example.com/" }, "127.0.0.1", false],
    ["GET", { origin: "http://localhost" }, "127.0.0.1", false],
  ])("%s with %j from %s: %s", (method, headers, from, expected) => {
    expect(mayChangeState(request(headers, from, method))).toBe(expected);
  });
});
