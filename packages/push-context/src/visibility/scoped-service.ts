import { query, type QueryContext } from "@istiod/incremental";
import { aliasesOf, service, type Service, type ServicePort } from "@istiod/service-discovery";

/** A service as a scope imports it: perhaps with some of its ports and aliases only. */
export interface ScopedService {
  /** The service's id. */
  readonly service: string;
  readonly hostname: string;
  /** Numbers of the ports that are imported, of each the first port that has it, then the next; absent: all. */
  readonly ports?: readonly number[];
  /** Keys of the aliases that are imported; absent: all. */
  readonly aliases?: readonly string[];
  /** Ports that other declarations of the same host add. */
  readonly added?: readonly { readonly service: string; readonly port: number }[];
}

/** A scoped service in full: the service itself, where nothing is left out or added. */
export const scopedService = query(
  "scopedService",
  (q, scoped: ScopedService): Service | undefined => {
    const found = q.call(service, scoped.service);
    if (found === undefined || (scoped.ports === undefined && scoped.added === undefined)) {
      return found;
    }
    const own = scoped.ports === undefined ? found.ports : portsNumbered(found, scoped.ports);
    const more = (scoped.added ?? []).flatMap(
      (from) => q.call(service, from.service)?.ports.find((port) => port.number === from.port) ?? [],
    );
    return { ...found, ports: [...own, ...more] };
  },
  {
    key: ({ service: id, ports, added }) =>
      ports === undefined && added === undefined ? id : JSON.stringify([id, ports, added]),
  },
);

/** Ports by number: a number that is there twice means two ports, of TCP and of UDP. */
function portsNumbered({ ports }: Service, numbers: readonly number[]): readonly ServicePort[] {
  const left = [...ports];
  return numbers.flatMap((number) => {
    const at = left.findIndex((port) => port.number === number);
    return at < 0 ? [] : left.splice(at, 1);
  });
}

/** Keys of the ExternalName services that lead to a scoped service, as far as its scope imports them. */
export function scopedAliases(q: QueryContext, { hostname, aliases }: ScopedService): readonly string[] {
  return aliases ?? q.call(aliasesOf, hostname);
}
