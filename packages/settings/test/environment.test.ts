import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import {
  agentVariables,
  discoveryVariables,
  environmentReport,
  environmentWarnings,
  listenError,
} from "@istiod/settings";

describe("the environment's report", () => {
  const options = {
    read: ["PILOT_HTTP10", "REVISION"],
    istio: ["PILOT_HTTP10", "PILOT_ENABLE_ANALYSIS", "PLATFORM"],
    elsewhere: ["ISTIO_CPU_LIMIT"],
    readPrefixes: ["ISTIO_META_"],
  };

  it("has no variables that are read, empty, of other programs, or set by Kubernetes for Services", () => {
    const env = {
      PILOT_HTTP10: "1",
      REVISION: "a",
      PLATFORM: "",
      HOME: "/",
      ISTIO_CPU_LIMIT: "2",
      ISTIO_META_X: "1",
      ISTIOD_SERVICE_HOST: "10.0.0.1",
      ISTIOD_SERVICE_PORT: "1",
      ISTIOD_SERVICE_PORT_GRPC_XDS: "1",
      ISTIOD_PORT: "tcp://10.0.0.1:15010",
      ISTIOD_PORT_15010_TCP: "x",
      ISTIOD_PORT_15010_TCP_PROTO: "tcp",
      ISTIO_INGRESSGATEWAY_PORT_80_TCP_ADDR: "10.0.0.2",
    };
    expect(environmentReport({ env, ...options })).toEqual({ ignored: [], unknown: [] });
    expect(environmentWarnings(environmentReport({ env, ...options }))).toEqual([]);
  });

  it("names ignored variables in one line, and each unknown variable in its own", () => {
    const env = { PLATFORM: "openshift", PILOT_ENABLE_ANALYSIS: "true", PILOT_HTTP_10: "1", CITADEL_WHATEVER: "1" };
    expect(environmentWarnings(environmentReport({ env, ...options }))).toEqual([
      "environment variables without effect are ignored: PILOT_ENABLE_ANALYSIS, PLATFORM",
      "unknown environment variable CITADEL_WHATEVER",
      "unknown environment variable PILOT_HTTP_10; did you mean PILOT_HTTP10?",
    ]);
  });
});

describe("a variable in lower case", () => {
  const options = { read: ["PILOT_HTTP10", "REVISION", "TRUST_DOMAIN"], istio: ["PILOT_ENABLE_ANALYSIS"] };
  it.each([
    ["pilot_http10", "PILOT_HTTP10"],
    ["Pilot_Http10", "PILOT_HTTP10"],
    ["pilot_enable_analysis", "PILOT_ENABLE_ANALYSIS"],
    ["trust_domain", "TRUST_DOMAIN"],
    ["pilot_htp10", "PILOT_HTTP10"],
  ])("%s is unknown, with the name in upper case", (name, meant) => {
    expect(environmentWarnings(environmentReport({ env: { [name]: "1" }, ...options }))).toEqual([
      `unknown environment variable ${name}; did you mean ${meant}?`,
    ]);
  });
  it.each(["http_proxy", "revision", "Path", "npm_config_cache"])("of other programs is none: %s", (name) => {
    expect(environmentReport({ env: { [name]: "1" }, ...options }).unknown).toEqual([]);
  });
});

describe("the names of Istio's variables", () => {
  it.each([
    ["discovery", discoveryVariables],
    ["the agent", agentVariables],
  ])("of %s are names, each once, sorted", (_, names) => {
    expect(names.filter((name) => !/^[A-Z][A-Z0-9_]+$/.test(name))).toEqual([]);
    expect([...new Set(names)].sort()).toEqual(names);
    expect(names.length).toBeGreaterThan(70);
  });
});

describe("an error of listening", () => {
  it.each([
    ["EADDRINUSE", "--httpAddr 127.0.0.1:8080: address already in use; choose another port with --httpAddr"],
    ["EACCES", "--httpAddr 127.0.0.1:8080: permission denied; choose another port with --httpAddr"],
    [
      "EADDRNOTAVAIL",
      "--httpAddr 127.0.0.1:8080: cannot assign requested address; choose another address with --httpAddr",
    ],
    ["ENOTFOUND", "--httpAddr 127.0.0.1:8080: no such host; choose another address with --httpAddr"],
  ])("names the setting and the address (%s)", (code, message) => {
    expect(
      listenError({ setting: "--httpAddr", address: "127.0.0.1:8080" }, Object.assign(new Error("listen"), { code })),
    ).toMatchObject({ message });
  });

  it("names the process that has the port", () => {
    const error = listenError(
      { setting: "ENVOY_STATUS_PORT", address: "*:15021", owner: "pid 12 (envoy)" },
      Object.assign(new Error("listen"), { code: "EADDRINUSE" }),
    );
    expect(error).toMatchObject({
      message:
        "ENVOY_STATUS_PORT *:15021: address already in use by pid 12 (envoy); choose another port with ENVOY_STATUS_PORT",
    });
  });

  it("is returned as it is if it is another error", () => {
    const error = new Error("other");
    expect(listenError({ setting: "--httpAddr", address: ":8080" }, error)).toBe(error);
  });
});

it("the README's example runs", async () => {
  await import("./readme-example.js");
  const readme = await readFile(new URL("../README.md", import.meta.url), "utf8");
  expect(readme).toContain(await readFile(new URL("./readme-example.ts", import.meta.url), "utf8"));
});
