import { describe, expect, it } from "vitest";
import { messagesOf, placesOf } from "./messages-of.js";

const configuration = (
  kind: "Mutating" | "Validating",
  name: string,
  webhooks: readonly string[],
  labels = "",
): string =>
  [
    "apiVersion: admissionregistration.k8s.io/v1",
    `kind: ${kind}WebhookConfiguration`,
    `metadata: {name: ${name}, labels: {${labels}}}`,
    "webhooks:",
    ...webhooks.map((webhook) => `- {${webhook}}`),
    "---",
    "",
  ].join("\n");

describe("injection webhooks", () => {
  const overlap = "webhook.Analyzer";
  const byRevision = (revision: string): string => `namespaceSelector: {matchLabels: {istio.io/rev: ${revision}}}`;

  it("must not select the same pods", () => {
    const text =
      configuration("Mutating", "a", [`name: x.istio.io, ${byRevision("one")}`]) +
      configuration("Mutating", "b", [`name: y.istio.io, ${byRevision("one")}`]);
    expect(messagesOf(overlap, text)).toEqual([
      "IST0139 MutatingWebhookConfiguration a 5: webhook x.istio.io overlaps with others: b/y.istio.io, so that injection may occur twice; make their selectors exclude each other",
      "IST0139 MutatingWebhookConfiguration b 11: webhook y.istio.io overlaps with others: a/x.istio.io, so that injection may occur twice; make their selectors exclude each other",
    ]);
  });

  it("may select pods of different revisions or labels", () => {
    const webhooks = [
      `name: x.istio.io, ${byRevision("one")}`,
      `name: y.istio.io, ${byRevision("two")}`,
      "name: z.istio.io, namespaceSelector: {matchExpressions: [{key: istio.io/rev, operator: DoesNotExist}]}, objectSelector: {matchLabels: {sidecar.istio.io/inject: 'true'}}",
      "name: v.istio.io, namespaceSelector: {matchExpressions: [{key: istio.io/rev, operator: DoesNotExist}]}, objectSelector: {matchLabels: {sidecar.istio.io/inject: 'false'}}",
    ];
    expect(placesOf(overlap, configuration("Mutating", "a", webhooks))).toEqual([]);
  });

  it("are recognized by their name or a revision label", () => {
    const everything = configuration("Mutating", "a", ["name: x.istio.io"]);
    expect(placesOf(overlap, everything + configuration("Mutating", "b", ["name: y.example.com"]))).toEqual([]);
    expect(
      placesOf(overlap, everything + configuration("Mutating", "b", ["name: y.example.com"], "istio.io/rev: one")),
    ).toEqual(["IST0139 MutatingWebhookConfiguration a 5", "IST0139 MutatingWebhookConfiguration b 11"]);
  });

  it("must call services that exist", () => {
    const text = configuration("Mutating", "a", [
      "name: x.istio.io, clientConfig: {service: {namespace: istio-system, name: istiod}}",
    ]);
    expect(messagesOf(overlap, text)).toEqual([
      "IST0139 MutatingWebhookConfiguration a 5: webhook x.istio.io refers to a control plane service that does not exist: istio-system/istiod; remove the webhook or correct the service",
    ]);
    const istiod =
      "apiVersion: v1\nkind: Service\nmetadata: {name: istiod, namespace: istio-system}\nspec: {ports: [{name: grpc, port: 15010}]}\n";
    expect(placesOf(overlap, text + istiod)).toEqual([]);
  });
});

describe("addresses of an external control plane", () => {
  const addresses = "externalcontrolplane.ExternalControlPlaneAnalyzer";
  const at = (client: string): readonly string[] =>
    placesOf(addresses, configuration("Mutating", "istio-sidecar-injector", [`name: x, clientConfig: {${client}}`]));
  const url = (value: string): readonly string[] => at(`url: ${JSON.stringify(value)}`);

  it("are required", () => {
    expect(at("caBundle: a")).toEqual(["IST0163 MutatingWebhookConfiguration istio-sidecar-injector 5"]);
    expect(at("service: {namespace: a, name: b}")).toEqual([]);
    expect(placesOf(addresses, configuration("Validating", "istio-validator-a", ["name: x"]))).toEqual([
      "IST0163 ValidatingWebhookConfiguration istio-validator-a 5",
    ]);
    expect(
      placesOf(
        addresses,
        configuration("Validating", "other", ["name: x"]) + configuration("Mutating", "other", ["name: x"]),
      ),
    ).toEqual([]);
  });

  it("must be URLs", () => {
    const valid = [
      "https://istiod.example.com:15017/inject",
      "",
      "istiod.example.com",
      "https://user@host",
      "https://host/a%20b?x=%",
      "istiod:443/x",
    ];
    const invalid = [
      "https://a b",
      "https://[::1",
      "https://host:port",
      "://host",
      "1a:b",
      "https://host/%zz",
      "https://a\u0001",
    ];
    expect(valid.map(url)).toEqual(valid.map(() => []));
    expect(invalid.map(url)).toEqual(
      invalid.map(() => ["IST0163 MutatingWebhookConfiguration istio-sidecar-injector 5"]),
    );
  });

  it("should be hostnames", () => {
    const ips = ["https://1.2.3.4:15017/inject", "https://[fd00::1]/inject"];
    expect(ips.map(url)).toEqual(ips.map(() => ["IST0164 MutatingWebhookConfiguration istio-sidecar-injector 5"]));
    expect(
      messagesOf(
        addresses,
        configuration("Mutating", "istio-sidecar-injector", ["name: x, clientConfig: {url: 'https://1.2.3.4'}"]),
      )[0],
    ).toContain('the URL "https://1.2.3.4" of webhook x has an IP address (1.2.3.4) instead of a hostname');
  });
});
