import { expect, it } from "vitest";
import { type DebugCaller, type DebugTransport, debugAuthorization } from "../src/debug/authorization.js";

const unauthenticated: DebugCaller = { kind: "unauthenticated" };
const of = (namespace: string | undefined): DebugCaller => ({ kind: "authenticated", namespace });

function decide(transport: DebugTransport, caller: DebugCaller, command: string, env: NodeJS.ProcessEnv): string {
  const authorize = debugAuthorization({ rootNamespace: () => "istio-system", env });
  const decision = authorize(transport, caller, command);
  return decision.allowed ? (decision.namespace ?? "all") : `no: ${decision.reason}`;
}

const disabled = { ENABLE_DEBUG_ENDPOINT_AUTH: "false" };
const tools = { DEBUG_ENDPOINT_AUTH_ALLOWED_NAMESPACES: "tools" };

it.each<[string, DebugCaller, string, NodeJS.ProcessEnv, http: string, xds: string, status: string]>([
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
])("%s: %j %s %j", (_, caller, command, env, http, xds, status) => {
  expect([
    decide("http", caller, command, env),
    decide("xds", caller, command, env),
    decide("xds status", caller, command, env),
  ]).toEqual([http, xds, status]);
});

it("callers on loopback may use every endpoint", () => {
  expect(decide("http", { kind: "local" }, "configz", {})).toBe("all");
});
