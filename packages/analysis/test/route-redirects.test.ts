import { describe, expect, it } from "vitest";
import { certificate, privateKey } from "./key-pair.js";
import { messagesIn, object } from "./messages-in.js";

type Fields = Readonly<Record<string, unknown>>;

const of = (kind: string, name: string, spec: Fields, namespace = "shop"): string =>
  `${JSON.stringify({ apiVersion: "gateway.networking.k8s.io/v1", kind, metadata: { name, namespace }, spec })}\n---\n`;
const tls = { certificateRefs: [{ name: "cert" }] };
const http: Fields = { name: "http", port: 80, protocol: "HTTP" };
const https: Fields = { name: "https", port: 443, protocol: "HTTPS", tls };
const secret = object("Secret", "shop/cert", { stringData: { "tls.crt": certificate, "tls.key": privateKey } });
const gateway = (listeners: readonly Fields[], more: Fields = {}): string =>
  of("Gateway", "front", { gatewayClassName: "istio", listeners, ...more });
const set = (listener: Fields): string =>
  of("ListenerSet", "more", { parentRef: { name: "front" }, listeners: [listener] });
const front = { name: "front" };
const route = (parentRefs: readonly Fields[], spec: Fields = {}, namespace = "shop", redirect: Fields = {}): string =>
  of(
    "HTTPRoute",
    "web",
    {
      parentRefs: parentRefs.map((parent) => ({ namespace: "shop", ...parent })),
      rules: [{ filters: [{ type: "RequestRedirect", requestRedirect: { scheme: "https", ...redirect } }] }],
      ...spec,
    },
    namespace,
  );
const www = { hostnames: ["www.example.com"] };
const withSets = { allowedListeners: { namespaces: { from: "Same" } } };
const inSet = { kind: "ListenerSet", name: "more" };
const listeners = (text: string): readonly (string | undefined)[] =>
  messagesIn(secret + text, ["MESH0043"]).map(
    (message) => /requests to listener (\S+) are redirected/.exec(message)?.[1],
  );

describe("a redirect of a route to HTTPS", () => {
  it.each<readonly [string, string]>([
    ["from all listeners", gateway([http, https]) + route([front])],
    ["from a listener with its host", gateway([http, { ...https, hostname: "*.example.com" }]) + route([front], www)],
    ["from the listener that it names", gateway([http, https]) + route([{ ...front, sectionName: "https" }])],
    ["from the port that it names", gateway([http, https]) + route([{ ...front, port: 443 }])],
    [
      "from another namespace that is allowed",
      gateway([{ ...https, allowedRoutes: { namespaces: { from: "All" } } }]) + route([front], {}, "bank"),
    ],
    ["from a ListenerSet", gateway([http], withSets) + set(https) + route([front, inSet])],
  ])("leads back %s", (_, text) => {
    expect(listeners(text)).toEqual(["https"]);
  });

  it.each<readonly [string, string]>([
    ["from a listener with HTTP", gateway([http, https]) + route([{ ...front, sectionName: "http" }])],
    [
      "beside a listener with another host",
      gateway([http, { ...https, hostname: "secure.example.com" }]) + route([front], www),
    ],
    [
      "beside a listener for the routes of another namespace",
      gateway([{ ...http, allowedRoutes: { namespaces: { from: "All" } } }, https]) + route([front], {}, "bank"),
    ],
    [
      "beside a listener for routes of another kind",
      gateway([http, { ...https, allowedRoutes: { kinds: [{ kind: "GRPCRoute" }] } }]) + route([front]),
    ],
    [
      "beside a listener whose host belongs to another one",
      gateway([http, https, { ...https, name: "www", hostname: "www.example.com" }]) +
        route([{ ...front, sectionName: "https" }], www),
    ],
    ["from another port than 443", gateway([http, { ...https, port: 8443 }]) + route([front])],
    ["beside a ListenerSet that is not allowed", gateway([http]) + set(https) + route([front, inSet])],
    [
      "from a ListenerSet with another host",
      gateway([http], withSets) + set({ ...https, hostname: "secure.example.com" }) + route([front, inSet], www),
    ],
    ["from a ListenerSet on another port", gateway([http], withSets) + set({ ...https, port: 8443 }) + route([inSet])],
    ["to another host", gateway([https]) + route([front], {}, "shop", { hostname: "b.example" })],
    ["to another port", gateway([https]) + route([front], {}, "shop", { port: 8443 })],
    ["from a Gateway of another class", gateway([https]).replace('"istio"', '"nginx"') + route([front])],
  ])("ends %s", (_, text) => {
    expect(listeners(text)).toEqual([]);
  });

  it("to HTTP leads back from port 80, and ends from others", () => {
    const back = route([front], {}, "shop", { scheme: "http" });
    expect(listeners(gateway([http, https]) + back)).toEqual(["http"]);
    expect(listeners(gateway([{ ...http, port: 8080 }, https]) + back)).toEqual([]);
  });
});
