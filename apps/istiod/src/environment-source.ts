import { writeNow, writeServed } from "@istiod/analysis";
import { type Source } from "@istiod/config-ingestion";
import { type AbsentReaders, clusterRegistriesVariable, environment, writeAbsentReaders } from "@istiod/config-schema";
import type { FlagValues } from "./flags.js";

/** The flag of the namespace of the Secrets of remote clusters. Default: that of istiod. */
export type SecretsFlags = Partial<Pick<FlagValues, "clusterRegistriesNamespace">>;

/**
 * The environment of this process, and the flags that generators read as such, as a source that never changes. The
 * time, that the database is served, and what this istiod does not run are written with them, so that the first
 * revision has everything that analysis reads.
 */
export function environmentSource(
  env: NodeJS.ProcessEnv,
  values: Pick<FlagValues, "clusterID" | "domain" | "namespace"> & SecretsFlags,
  absentReaders: AbsentReaders,
): Source {
  const variables = new Map(Object.entries(env).filter((e): e is [string, string] => e[1] !== undefined));
  variables.set("CLUSTER_ID", values.clusterID);
  variables.set("DOMAIN_SUFFIX", values.domain);
  variables.set("POD_NAMESPACE", values.namespace);
  variables.set(clusterRegistriesVariable, values.clusterRegistriesNamespace ?? "");
  let written = false;
  return {
    start: async () => undefined,
    read: async () => ({
      apply: (tx) => {
        if (written) return;
        written = true;
        writeNow(tx, Date.now());
        writeServed(tx);
        writeAbsentReaders(tx, absentReaders);
        for (const [name, value] of variables) if (/^[A-Z][A-Z0-9_]*$/.test(name)) tx.set(environment, name, value);
      },
      problems: [],
    }),
    stop: () => undefined,
  };
}
