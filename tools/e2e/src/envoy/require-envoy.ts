import { findEnvoy } from "@istiod/envoy-binary";

/** Returns the reason why a mesh cannot be started on this machine; undefined if it can. */
export async function whyNoEnvoy(): Promise<string | undefined> {
  return (await findEnvoy()) ? undefined : "no Envoy: set ENVOY_PATH, or run `npx istiod-envoy install`";
}

/** Returns the path of Envoy. @throws Error if there is none */
export async function requireEnvoy(): Promise<string> {
  const envoy = await findEnvoy();
  if (envoy === undefined) throw new Error("no Envoy: call whyNoEnvoy() first");
  return envoy;
}
