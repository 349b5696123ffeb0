import { query, type View } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";
import { aliasesOf, kubernetesServicesByName, service, splitKey } from "@istiod/service-discovery";
import type { ResourceType } from "../resource-types.js";
import { hostsOf } from "./hosts-of.js";
import { ignoredConfig, type IgnoredConfig } from "./ignored-config.js";

/** Returns the ports of aliases (ExternalName services) of a resource's hosts that the hosts themselves do not have. */
export function portsOfAliases(view: View<Proxy>, type: ResourceType, name: string): readonly IgnoredConfig[] {
  return hostsOf(view, type, name).flatMap((host) =>
    view.call(aliasesOf, host).flatMap((key) => {
      const ignored = view.call(meaninglessPorts, key);
      if (ignored.length === 0) return [];
      const [namespace, alias] = splitKey(key);
      const reason = `is an alias of ${host}: clients reach the ports of that service, whatever ports the alias declares (${ignored.join(", ")})`;
      return [
        ignoredConfig("Service", `${namespace}/${alias.slice(0, alias.indexOf("."))}`, reason, { field: "spec.ports" }),
      ];
    }),
  );
}

/** The ports that an alias (`namespace/hostname`) declares and the service that it stands for does not have. */
const meaninglessPorts = query("explain.portsOfAlias", (q, key: string): readonly number[] => {
  const [namespace, alias] = splitKey(key);
  const [object] = q.read(kubernetesServicesByName, `${namespace}/${alias.slice(0, alias.indexOf("."))}`);
  const actual = q.call(service, key)?.ports.map(({ number }) => number) ?? [];
  return (object?.spec.ports ?? []).map(({ port }) => port).filter((port) => !actual.includes(port));
});
