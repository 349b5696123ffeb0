import { query } from "@istiod/incremental";
import { allEndpoints } from "./endpoints.js";
import { declarationsOf, service } from "./services.js";
import { declarationName, type EndpointSource, endpointSourceKey, type Service } from "./model/service.js";
import { trustDomainAliases } from "./settings/mesh.js";

const SPIFFE_ID = /^spiffe:\/\/[^/]*\/(ns\/[^/]+\/sa\/[^/]+)$/;

/**
 * The identities that servers of a service (`namespace/hostname`) may present, sorted: those of its endpoints and those
 * that it declares, in all trust domains of the mesh. Of several declarations, the latest one that is not hidden is
 * used. Empty if unknown: any identity is accepted.
 */
export const serviceIdentities = query(
  "serviceIdentities",
  (q, source: EndpointSource): readonly string[] => {
    const { service: key, hidden = [] } = source;
    const declared = q
      .call(declarationsOf, key)
      .flatMap((id) => q.call(service, id) ?? [])
      .filter((declaration) => !hidden.includes(declarationName(declaration)));
    const latest = declared.reduce<Service | undefined>(
      (last, next) => (last === undefined || next.creationTimestamp >= last.creationTimestamp ? next : last),
      undefined,
    );
    const endpointIdentities = q
      .call(allEndpoints, source)
      .flatMap(({ identity }) => (identity === "" ? [] : [identity]));
    const aliases = q.call(trustDomainAliases);
    const all = [...endpointIdentities, ...(latest?.declaredIdentities ?? [])].flatMap((identity) => {
      const path = SPIFFE_ID.exec(identity)?.[1];
      return path === undefined ? [identity] : [identity, ...aliases.map((domain) => `spiffe://${domain}/${path}`)];
    });
    return [...new Set(all)].sort();
  },
  { key: endpointSourceKey },
);
