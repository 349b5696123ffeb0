import { expect, test } from "vitest";
import { messagesIn, object, placesIn } from "./messages-in.js";

const codes = ["IST0101", "IST0110", "IST0111", "IST0167"];

const sidecar = (name: string, labels?: Readonly<Record<string, string>>, metadata = {}): string =>
  object(
    "Sidecar",
    name,
    { spec: { ...(labels && { workloadSelector: { labels } }), egress: [{ hosts: ["./*"] }] } },
    metadata,
  );
const pod = (name: string, labels: Readonly<Record<string, string>>, annotations = {}): string =>
  object("Pod", name, { spec: { containers: [] } }, { labels, annotations });
const namespace = (labels: Readonly<Record<string, string>>): string =>
  object("Namespace", "", { metadata: { name: "shop", labels } });

test("the selector of a Sidecar must select a pod of its namespace", () => {
  const text = `apiVersion: networking.istio.io/v1
kind: Sidecar
metadata: {name: cart, namespace: shop}
spec:
  workloadSelector:
    labels:
      app: crat
  egress: [{hosts: ["./*"]}]
---
`;
  expect(messagesIn(text + pod("shop/cart", { app: "cart" }), codes)).toEqual([
    'IST0101 Sidecar shop/cart 7: referenced selector "app=crat" not found: no pod in namespace shop has the label app=crat; did you mean "app=cart"?',
  ]);
  expect(placesIn(text + pod("books/cart", { app: "crat" }), codes)).toEqual(["IST0101 Sidecar shop/cart 7"]);
  expect(messagesIn(text + pod("shop/cart", { app: "crat" }), codes)).toEqual([]);
});

test("Sidecars that select the same pod conflict, and the oldest applies", () => {
  const pods = pod("shop/cart", { app: "cart", version: "v1" }) + pod("shop/other", { app: "other" });
  const a = sidecar("shop/a", { app: "cart" }, { creationTimestamp: "2026-01-02T00:00:00Z" });
  const b = sidecar("shop/b", { version: "v1" }, { creationTimestamp: "2026-01-01T00:00:00Z" });
  expect(messagesIn(pods + a + b, codes)).toEqual([
    "IST0110 Sidecar shop/a 5: conflicting workload selectors: Sidecar b selects some of the same pods of namespace shop, for which only the oldest applies, b; make the selectors disjoint",
    "IST0110 Sidecar shop/b 7: conflicting workload selectors: Sidecar a selects some of the same pods of namespace shop, for which only the oldest applies, b; make the selectors disjoint",
  ]);
  expect(messagesIn(pods + a + sidecar("shop/c", { app: "other" }), codes)).toEqual([]);
  expect(messagesIn(pods + a + sidecar("shop/c"), codes)).toEqual([]);
});

test("several Sidecars without a selector in a namespace are reported", () => {
  expect(messagesIn(sidecar("shop/a") + sidecar("shop/b", {}), codes)).toEqual([
    "IST0111 Sidecar shop/a 1: Sidecar b of namespace shop has no workloadSelector either, and only the oldest applies, a; keep one, or give the others a selector",
    "IST0111 Sidecar shop/b 3: Sidecar a of namespace shop has no workloadSelector either, and only the oldest applies, a; keep one, or give the others a selector",
  ]);
  expect(messagesIn(sidecar("shop/a") + sidecar("books/b"), codes)).toEqual([]);
});

test("a Sidecar is ineffective in ambient mode", () => {
  const ambient = { "istio.io/dataplane-mode": "ambient" };
  expect(
    messagesIn(sidecar("shop/a") + sidecar("shop/b") + namespace(ambient), codes).map((message) =>
      message.slice(0, 72),
    ),
  ).toEqual([
    "IST0167 Sidecar shop/a 1: the Sidecar is ineffective: namespace shop is ",
    "IST0167 Sidecar shop/b 3: the Sidecar is ineffective: namespace shop is ",
  ]);
  expect(messagesIn(sidecar("shop/a") + namespace({ ...ambient, "istio-injection": "enabled" }), codes)).toEqual([]);
  expect(messagesIn(sidecar("shop/a") + namespace({ ...ambient, "istio.io/rev": "canary" }), codes)).toEqual([]);
  const redirected = pod("shop/cart", { app: "cart" }, { "ambient.istio.io/redirection": "enabled" });
  expect(
    messagesIn(sidecar("shop/a", { app: "cart" }) + sidecar("shop/b", { app: "cart" }) + redirected, codes),
  ).toEqual([
    "IST0167 Sidecar shop/a 1: the Sidecar is ineffective: a selected workload is in ambient mode, which has no sidecar",
    "IST0167 Sidecar shop/b 3: the Sidecar is ineffective: a selected workload is in ambient mode, which has no sidecar",
  ]);
});
