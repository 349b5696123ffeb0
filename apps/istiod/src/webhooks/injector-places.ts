import { access } from "node:fs/promises";
import { join } from "node:path";
import { ConfigMapPlace, FilePlace, revisedName } from "@istiod/config-ingestion";
import type { InjectorPlaces } from "@istiod/injector";
import type { ApiClient } from "@istiod/kubernetes";
import type { Environment } from "@istiod/settings";
import { variables } from "../variables.js";

/** Directory of the configuration in files, as in Istio (pilot/cmd/pilot-discovery/app/cmd.go). */
const injectionDirectory = "./var/lib/istio/inject";

/**
 * Returns the places of the configuration: files if there are any, otherwise the ConfigMap `istio-sidecar-injector`, or
 * `istio-sidecar-injector-REVISION`. Source: pilot/pkg/bootstrap/sidecarinjector.go.
 */
export async function injectorPlaces(client: ApiClient, namespace: string, env: Environment): Promise<InjectorPlaces> {
  const file = (name: string): string => join(injectionDirectory, name);
  if (await exists(file("config")))
    return { config: new FilePlace(file("config")), values: new FilePlace(file("values")) };
  const configMap = revisedName("istio-sidecar-injector", variables.revision.read(env));
  const place = (key: string): ConfigMapPlace => new ConfigMapPlace({ client, namespace, configMap, key });
  return { config: place("config"), values: place("values") };
}

function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
