import { query, type QueryContext } from "@istiod/incremental";
import { aliasesOf, service, type Service, type ServicePort } from "@istiod/service-discovery";

/** A service as a scope imports it, possibly with some of its ports and aliases only. */
export interface ScopedService {
  /** The service's id. */
  readonly service: string;
  readonly hostname: string;
  /** Numbers of the imported ports; a number that occurs twice selects two ports (TCP and UDP). Absent: all ports. */
  readonly ports?: readonly number[];
  /** Keys of the imported aliases. Absent: all aliases. */
  readonly aliases?: readonly string[];
  /** Ports merged from other services with the same hostname. */
  readonly added?: readonly { readonly service: string; readonly port: number }[];
}

/** The service with its ports as imported by the scope; the service itself if no port is filtered or added. */
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

/** Returns ports by number; a number that occurs twice selects two ports (TCP and UDP). */
function portsNumbered({ ports }: Service, numbers: readonly number[]): readonly ServicePort[] {
  const left = [...ports];
  return numbers.flatMap((number) => {
    const at = left.findIndex((port) => port.number === number);
    return at < 0 ? [] : left.splice(at, 1);
  });
}

/** Returns the keys of the ExternalName services that are aliases of a scoped service and imported by its scope. */
export function scopedAliases(q: QueryContext, { hostname, aliases }: ScopedService): readonly string[] {
  return aliases ?? q.call(aliasesOf, hostname);
}
