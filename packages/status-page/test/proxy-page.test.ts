import { type ProxyDetails, renderProxyPage } from "@istiod/status-page";
import { expect, it } from "vitest";
import { now, proxy, rejectedListener, withType } from "./models.js";
import { textOf } from "./page-text.js";

const details: ProxyDetails = {
  at: now,
  proxy: proxy("cart-7d9f.shop", { replica: "istiod-1" }),
  routes: [
    {
      domains: ["reviews.shop.svc.cluster.local", "reviews", "reviews.shop", "10.0.0.1"],
      match: "/a*",
      shares: [
        { cluster: "outbound|80|v1|reviews.shop.svc.cluster.local", percent: 90 },
        { cluster: "outbound|80|v3|reviews.shop.svc.cluster.local", percent: 10 },
      ],
      virtualService: "reviews.shop",
    },
    { domains: ["*"], match: "", shares: [], virtualService: "moved.shop" },
  ],
  destinations: [
    { cluster: "outbound|80||pay.shop.svc.cluster.local", tls: "mutual TLS to sidecars", destinationRule: "" },
    { cluster: "outbound|443||api.example.com", tls: "TLS", destinationRule: "api.shop" },
  ],
  ports: [
    { port: 0, mode: "STRICT" },
    { port: 9080, mode: "PERMISSIVE" },
  ],
};

it("shows the split of each route, the TLS of each destination, and the mode of each port", () => {
  const text = textOf(renderProxyPage(details, [{ href: "./x", label: "Configuration", about: "as JSON" }]));
  expect(text).toContain("cart-7d9f.shop");
  expect(text).toContain(
    "reviews.shop.svc.cluster.local, reviews, reviews.shop and 1 more /a* 90 % reviews.shop.svc.cluster.local:80 subset v1",
  );
  expect(text).toContain("10 % reviews.shop.svc.cluster.local:80 subset v3 reviews.shop");
  expect(text).toContain("* /* no destination moved.shop");
  expect(text).toContain("pay.shop.svc.cluster.local:80 mutual TLS to sidecars");
  expect(text).toContain("api.example.com:443 TLS api.shop");
  expect(text).toContain("all others STRICT 9080 PERMISSIVE");
  expect(text).toContain("Configuration as JSON");
});

it("shows why a proxy gets nothing or rejects it, and no inbound ports of a gateway", () => {
  const unsupported = proxy("web.shop", { unsupported: "ztunnels are not supported yet", types: [] });
  const empty = { ...details, routes: [], destinations: [], ports: [] };
  const text = textOf(renderProxyPage({ ...empty, proxy: unsupported }, []));
  expect(text).toContain("ztunnels are not supported yet");
  expect(text).toContain("No VirtualService configures a route of this proxy.");
  const gateway = proxy("gw.edge", { kind: "router", types: withType(rejectedListener) });
  const rejected = textOf(renderProxyPage({ ...details, proxy: gateway }, []));
  expect(rejected).toContain("PEM_read_bio");
  expect(rejected).not.toContain("Mutual TLS from clients");
});

it("escapes names, and counts the rows beyond 200", () => {
  const name = `<script>alert(1)</script>`;
  const routes = Array.from({ length: 203 }, () => ({
    domains: [name],
    match: name,
    shares: [],
    virtualService: name,
  }));
  const markup = renderProxyPage({ ...details, proxy: proxy(name), routes }, [
    { href: "javascript:x", label: "x", about: name },
  ]);
  expect(markup).not.toContain("<script");
  expect(markup).not.toContain("javascript:");
  expect(textOf(markup)).toContain("and 3 more");
});
