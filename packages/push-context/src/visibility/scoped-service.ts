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
  /** Declarations of the service's key that are not exported to the scope. Absent: none. See `Service`. */
  readonly hidden?: readonly string[];
  /** Ports merged from other services with the same hostname. */
  readonly added?: readonly { readonly service: string; readonly port: number }[];
}

/** The service with its ports as imported by the scope; the service itself if nothing is filtered or added. */
export const scopedService = query(
  "scopedService",
  (q, scoped: ScopedService): Service | undefined => {
    const found = q.call(service, scoped.service);
    if (found === undefined || isWhole(scoped)) {
      return found;
    }
    const own = scoped.ports === undefined ? found.ports : portsNumbered(found, scoped.ports);
    const more = (scoped.added ?? []).flatMap(
      (from) => q.call(service, from.service)?.ports.find((port) => port.number === from.port) ?? [],
    );
    const { hidden } = scoped;
    return { ...found, ports: [...own, ...more], ...(hidden && { hiddenDeclarations: hidden }) };
  },
  {
    key: (scoped) =>
      isWhole(scoped) ? scoped.service : JSON.stringify([scoped.service, scoped.ports, scoped.added, scoped.hidden]),
  },
);

function isWhole({ ports, added, hidden }: ScopedService): boolean {
  return ports === undefined && added === undefined && hidden === undefined;
}

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
