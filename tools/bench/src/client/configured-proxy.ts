import type { Target } from "@istiod/xds-server/testing";
import { SimulatedProxy } from "./simulated-proxy.js";

/** Time in which a proxy must have what it needs, in milliseconds. */
const limitMs = 300_000;

export interface ConfiguredProxyOptions {
  readonly target: Target;
  /** An encoded `envoy.config.core.v3.Node`. */
  readonly node: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Opens a stream by delta xDS. Resolves when the proxy has what it needs. @throws Error if the stream ends before */
export function configuredProxy(options: ConfiguredProxyOptions): Promise<SimulatedProxy> {
  return new Promise((resolve, reject) => {
    const fail = (reason: string): void => {
      clearTimeout(timeout);
      proxy.drop();
      reject(new Error(`stream: ${reason}`));
    };
    const complete = (): void => {
      clearTimeout(timeout);
      resolve(proxy);
    };
    const timeout = setTimeout(() => fail(`no configuration within ${limitMs} ms`), limitMs);
    const proxy = new SimulatedProxy({ ...options, variant: "delta", events: { complete, broken: fail } });
    proxy.connect();
  });
}
