import { startBareEnvoy, unbound } from "@istiod/e2e";
import { findEnvoy } from "@istiod/envoy-binary";
import { clusterType, endpointType, listenerType, routeType } from "@istiod/xds-server";
import { type Resource, resource } from "@istiod/resources";

/** The outcome of offering a configuration to a real Envoy. */
export interface EnvoyVerdict {
  readonly outcome: "accepted" | "rejected" | "not asked";
  /** Reason for the rejection. */
  readonly message?: string;
}

/** A real Envoy to which the configuration of proxies is offered. */
export interface JudgeByEnvoy {
  /** Names of the extensions in its build. */
  readonly extensions: readonly string[];
  judge(
    held: (typeUrl: string) => ReadonlyMap<string, { readonly name: string; readonly bytes: Uint8Array }>,
  ): Promise<EnvoyVerdict>;
}

/** Returns a judge that starts an Envoy for each configuration; undefined if there is no Envoy. */
export async function judgeByEnvoy(): Promise<JudgeByEnvoy | undefined> {
  const binary = await findEnvoy();
  if (binary === undefined) return undefined;
  const probe = await startBareEnvoy(binary);
  const { extensions } = probe;
  await probe.close();
  return {
    extensions,
    async judge(held) {
      const envoy = await startBareEnvoy(binary);
      try {
        for (const typeUrl of [clusterType, endpointType, listenerType, routeType]) {
          const resources = [...held(typeUrl).values()].map(({ name, bytes }, index) =>
            offered(typeUrl, resource(name, bytes), index),
          );
          if (resources.length === 0) continue;
          const [refusal] = await envoy.offer(typeUrl, resources);
          if (refusal !== undefined) return { outcome: "rejected", message: refusal.message.slice(0, 500) };
        }
        return { outcome: "accepted" };
      } finally {
        await envoy.close();
      }
    },
  };
}

/** Listeners do not bind: their addresses are those of other machines. */
const offered = (typeUrl: string, each: Resource, index: number): Resource =>
  typeUrl === listenerType ? unbound(each, each.name, index + 1) : each;
