import { join } from "node:path";
import type { Clock } from "@istiod/runtime";
import { onTestFinished } from "vitest";
import { type Agent, readOptions, startAgent } from "../src/index.js";
import { freePorts } from "./agent-fixture.js";
import { type FakeIstiod, put, scratch, TOKEN } from "./fakes.js";
import { recordingLog } from "./recording-log.js";

export interface ProxylessAgentOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly proxyConfig?: Readonly<Record<string, unknown>>;
  /** Default: the token that the fake istiod accepts; `undefined` for no file. */
  readonly token?: string | undefined;
  readonly clock?: Clock;
  /** Default: a new directory. */
  readonly directory?: string;
}

/** Starts an agent without Envoy (DISABLE_ENVOY) for the workload cart in namespace shop. */
export async function startedAgent(istiod: FakeIstiod, options: ProxylessAgentOptions = {}) {
  const address = "127.0.0.1";
  const directory = options.directory ?? (await scratch());
  const token = "token" in options ? options.token : TOKEN;
  await put(join(directory, "var/run/secrets/istio/root-cert.pem"), istiod.root);
  if (token !== undefined) await put(join(directory, "var/run/secrets/tokens/istio-token"), token);
  const { status } = await freePorts(address, ["status"]);
  const { clock, proxyConfig } = options;
  const env = {
    AGENT_DIRECTORY: directory,
    AGENT_BIND_ADDRESS: address,
    INSTANCE_IP: address,
    POD_NAME: "cart-1",
    POD_NAMESPACE: "shop",
    SERVICE_ACCOUNT: "cart",
    ECC_SIGNATURE_ALGORITHM: "ECDSA",
    DISABLE_ENVOY: "true",
    PROXY_CONFIG: JSON.stringify({
      discoveryAddress: `127.0.0.1:${istiod.port}`,
      statusPort: status,
      ...proxyConfig,
    }),
    ...options.env,
  };
  const { log, messages } = recordingLog();
  const agent: Agent = await startAgent({
    type: "sidecar",
    options: readOptions({}, env),
    env,
    log,
    ...(clock && { clock }),
  });
  onTestFinished(() => agent.terminate());
  /** Returns the value of a metric of the agent, by its name without prefix and with its labels. */
  const metric = async (name: string): Promise<number | undefined> => {
    const text = await (await fetch(`http://${address}:${status}/metrics`)).text();
    const line = text.split("\n").find((each) => each.startsWith(`istio_agent_${name} `));
    return line === undefined ? undefined : Number(line.split(" ")[1]);
  };
  return { agent, directory, env, messages, metric };
}
