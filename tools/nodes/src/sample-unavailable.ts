import { access } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { findEnvoy } from "@istiod/envoy-binary";

const BUNDLES = ["istiod", "pilot-agent"] as const;

/** Returns the reason why a mesh cannot be installed on nodes of this machine, or `undefined` if it can. */
export async function sampleUnavailable(
  env: Readonly<Record<string, string | undefined>> = process.env,
  envoyCache?: string,
): Promise<string | undefined> {
  if ((await findEnvoy(env, envoyCache)) === undefined)
    return "no Envoy, which the proxies of the sample need: set ENVOY_PATH, or run `npm run envoy:install`";
  for (const name of BUNDLES) {
    const bundle = fileURLToPath(new URL(`../../../apps/${name}/bundle/main.js`, import.meta.url));
    const isThere = await access(bundle).then(
      () => true,
      () => false,
    );
    if (!isThere) return `${name}, which the sample runs, is not built: run \`npm run build\``;
  }
  return undefined;
}
