import { expect, it } from "vitest";
import {
  type DebugCaller,
  type DebugTransport,
  debugAuthorization,
  type DebugAuthorizationOptions,
} from "@istiod/introspection";

const unauthenticated: DebugCaller = { kind: "unauthenticated" };
const of = (namespace: string | undefined): DebugCaller => ({ kind: "authenticated", namespace });

type Settings = Partial<Omit<DebugAuthorizationOptions, "rootNamespace">>;

function decide(transport: DebugTransport, caller: DebugCaller, command: string, settings: Settings): string {
  const authorize = debugAuthorization({
    rootNamespace: () => "istio-system",
    isRequired: true,
    allowedNamespaces: [],
    ...settings,
  });
  const decision = authorize(transport, caller, command);
  return decision.allowed ? (decision.namespace ?? "all") : `no: ${decision.reason}`;
}

const disabled = { isRequired: false };
const tools = { allowedNamespaces: ["tools"] };

it.each<[string, DebugCaller, string, Settings, http: string, xds: string, status: string]>([
  ["nobody", unauthenticated, "config_dump", {}, "no: unauthenticated", "no: unauthenticated", "no: unauthenticated"],
  ["the root namespace", of("istio-system"), "configz", {}, "all", "all", "all"],
  ["an allowed namespace", of("tools"), "configz", tools, "all", "no: namespace", "all"],
  ["an allowed namespace", of("tools"), "edsz", tools, "all", "tools", "all"],
  ["another namespace", of("shop"), "config_dump", tools, "shop", "shop", "shop"],
  ["another namespace", of("shop"), "ndsz", {}, "shop", "shop", "shop"],
  ["another namespace", of("shop"), "syncz", {}, "no: namespace", "no: namespace", "shop"],
  ["an identity of no workload", of(undefined), "edsz", {}, "no: namespace", "no: namespace", "no: namespace"],
  [
    "nobody, without authorization",
    unauthenticated,
    "syncz",
    disabled,
    "no: unauthenticated",
    "no: unauthenticated",
    "all",
  ],
  ["another namespace, without authorization", of("shop"), "configz", disabled, "all", "no: namespace", "all"],
])("%s: %j %s %j", (_, caller, command, settings, http, xds, status) => {
  expect([
    decide("http", caller, command, settings),
    decide("xds", caller, command, settings),
    decide("xds status", caller, command, settings),
  ]).toEqual([http, xds, status]);
});

it("callers on loopback may use every endpoint", () => {
  expect(decide("http", { kind: "local" }, "configz", {})).toBe("all");
});
