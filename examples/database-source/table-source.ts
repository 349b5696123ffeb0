import { create, toBinary } from "@bufbuild/protobuf";
import { ClusterSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { resource, ResourceSet } from "@istiod/resources";
import { clusterType, type ResourceSource, type SourceChange } from "@istiod/xds-server";
import type { Row, Table } from "./table.js";

/** An Envoy: those of one team are served the same clusters. */
export interface Client {
  readonly team: string;
}

const encode = ({ cluster }: Row) =>
  resource(cluster, toBinary(ClusterSchema, create(ClusterSchema, { name: cluster })));

/** Serves each Envoy the clusters in the rows of its team, which is its node's cluster. */
export function tableSource(table: Table): ResourceSource<Client> {
  const clients = new Set<Client>();
  // One set for each team, the same object until its rows change: the server compares sets by identity first.
  const sets = new Map<string, ResourceSet>();
  return {
    ready: () => true,
    open(node) {
      const client = { team: node.cluster };
      clients.add(client);
      return client;
    },
    resources({ team }, typeUrl) {
      if (typeUrl !== clusterType) return undefined;
      const set = sets.get(team) ?? ResourceSet.of(table.rows(team).map(encode));
      sets.set(team, set);
      return set;
    },
    watch(listener: (change: SourceChange<Client>) => void) {
      return table.onChange((team) => {
        sets.delete(team);
        const affected = [...clients].filter((client) => client.team === team);
        listener({ clients: new Map(affected.map((client) => [client, [clusterType]])) });
      });
    },
    close: (client) => void clients.delete(client),
  };
}
