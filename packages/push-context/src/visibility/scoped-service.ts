import { query, type QueryContext } from "@istiod/incremental";
import { aliasesOf, service, type Service } from "@istiod/service-discovery";

/** A service as a scope imports it: perhaps with some of its ports and aliases only. */
export interface ScopedService {
  /** The service's id. */
  readonly service: string;
  readonly hostname: string;
  /** Numbers of the ports that are imported; absent: all. */
  readonly ports?: readonly number[];
  /** Keys of the aliases that are imported; absent: all. */
  readonly aliases?: readonly string[];
  /** Ports that other declarations of the same host add. */
  readonly added?: readonly { readonly service: string; readonly port: number }[];
}

/** A scoped service in full: the service itself, where nothing is left out or added. */
export const scopedService = query("scopedService", (q, scoped: ScopedService): Service | undefined => {
  const found = q.call(service, scoped.service);
  if (found === undefined || (scoped.ports === undefined && scoped.added === undefined)) {
    return found;
  }
  const own = scoped.ports === undefined ? found.ports : scoped.ports.flatMap((number) => found.ports.find((port) => port.number === number) ?? []);
  const more = (scoped.added ?? []).flatMap((from) => q.call(service, from.service)?.ports.find((port) => port.number === from.port) ?? []);
  return { ...found, ports: [...own, ...more] };
}, { key: ({ service: id, ports, added }) => (ports === undefined && added === undefined ? id : JSON.stringify([id, ports, added])) });

/** Keys of the ExternalName services that lead to a scoped service, as far as its scope imports them. */
export function scopedAliases(q: QueryContext, { hostname, aliases }: ScopedService): readonly string[] {
  return aliases ?? q.call(aliasesOf, hostname);
}
