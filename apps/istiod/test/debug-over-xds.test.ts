import { debugOverXds, debugType } from "@istiod/istiod";
import { proxyFromNode } from "@istiod/push-context";
import { expect, it } from "vitest";
import { client, folder, serve } from "./serving.js";

const commands = [
  { name: "syncz", about: "", answer: () => ({ json: ["all"] }) },
  { name: "config_dump", about: "", answer: ({ query, namespace }: { query: URLSearchParams; namespace: string | undefined }) => ({ json: { of: query.get("proxyID"), namespace: namespace ?? "all" } }) },
  { name: "status", about: "", answer: async () => ({ json: {} }) },
];
const answer = debugOverXds({ commands, rootNamespace: () => "istio-system" });
const ask = (namespace: string | undefined, name: string): string => {
  const claimed = proxyFromNode({ id: "sidecar~10.0.0.9~web.shop~shop.svc.cluster.local" });
  const proxy = namespace === undefined ? claimed : { ...claimed, verifiedIdentity: { namespace, serviceAccount: "a" } };
  return Buffer.from(answer(proxy, name).bytes).toString().trim();
};

it("answers who is proven to be of the root namespace, and others for their own proxies", () => {
  expect(ask("istio-system", "syncz")).toBe('["all"]');
  expect(ask("istio-system", "config_dump?proxyID=web.shop")).toBe('{"of":"web.shop","namespace":"all"}');
  expect(ask("shop", "config_dump?proxyID=web.shop")).toBe('{"of":"web.shop","namespace":"shop"}');
  expect(ask("shop", "syncz")).toContain("not available for current identity");
  expect(ask(undefined, "syncz")).toBe("authentication required");
  expect(ask("istio-system", "nothing")).toBe("there is no debug command nothing");
  expect(ask("istio-system", "status")).toBe("status takes time: ask for it over HTTP");
});

it("answers on a stream, once; on a plaintext port, that it does not know who asks", async () => {
  const istiod = await serve({ configDir: await folder({ "a.yaml": "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}" }) });
  const web = client(istiod, "delta", "sidecar~10.0.0.9~web.shop~shop.svc.cluster.local");
  web.subscribe(debugType, ["syncz"]);
  const { resources } = await web.accept(debugType);
  expect(Buffer.from(resources[0]?.bytes ?? []).toString()).toBe("authentication required\n");
});
