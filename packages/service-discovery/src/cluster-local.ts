import { meshConfig, meshConfigKey } from "@istiod/config-schema";
import { query } from "@istiod/incremental";
import { isWildcardHost } from "./model/service.js";
import { settings } from "./settings/features.js";

interface ClusterLocalSetting {
  readonly host: string;
  readonly local: boolean;
}

/**
 * Hosts with their cluster-local setting: those of MeshConfig.serviceSettings, then istiod's defaults unless
 * overridden.
 */
const clusterLocalSettings = query("clusterLocalSettings", (q): readonly ClusterLocalSetting[] => {
  const mesh = q.read(meshConfig, meshConfigKey);
  const domain = settings.domain(q);
  const configured = (mesh?.serviceSettings ?? []).flatMap(({ settings: values, hosts }) =>
    hosts.map((host) => ({ host, local: values?.clusterLocal ?? false })),
  );
  const [discovery = ""] = (mesh?.defaultConfig?.discoveryAddress || "istiod.istio-system.svc:15012").split(":", 1);
  const defaults = [
    `*.kube-system.svc.${domain}`,
    `kubernetes.default.svc.${domain}`,
    discovery.endsWith(domain) ? discovery : `${discovery}.${domain}`,
  ].filter(
    (host) =>
      !configured.some(
        (setting) =>
          !setting.local && (setting.host === host || (isWildcardHost(host) && setting.host.endsWith(host.slice(1)))),
      ),
  );
  const byHost = new Map(configured.map(({ host, local }) => [host, local]));
  for (const host of defaults) byHost.set(host, true);
  return [...byHost].map(([host, local]) => ({ host, local }));
});

/**
 * Reports whether a service is cluster-local, by the most specific setting for its host: clients then use only
 * endpoints in their own cluster. Source: `pilot/pkg/model/cluster_local.go`.
 */
export const isClusterLocal = query("isClusterLocal", (q, hostname: string): boolean => {
  const all = q.call(clusterLocalSettings);
  const exact = all.find(({ host }) => host === hostname);
  if (exact !== undefined) return exact.local;
  const name = isWildcardHost(hostname) ? hostname.slice(1) : hostname;
  const wildcards = all.filter(({ host }) => isWildcardHost(host) && name.endsWith(host.slice(1)));
  return (
    wildcards.reduce<ClusterLocalSetting | undefined>(
      (best, next) => (best === undefined || next.host.length > best.host.length ? next : best),
      undefined,
    )?.local ?? false
  );
});
