import { type AuthorityBundle, followRoots, type TrustSource } from "@istiod/ca";
import type { Logger } from "pino";

/** The roots in a file that verify istiod's serving certificate. */
export interface ServingRoots extends TrustSource {
  /** Calls a listener whenever changed roots cannot be read. The last good ones stay active. */
  onFailure(listener: () => void): void;
  stop(): void;
}

/** Follows the file of the roots of the serving certificate. @throws Error that names the file */
export async function openServingRoots(file: string, log: Logger): Promise<ServingRoots> {
  const failed = new Set<() => void>();
  const followed = await followRoots({
    file,
    onReload: () => log.info({ file }, "roots of the serving certificate reloaded"),
    onError: (error) => {
      for (const listener of failed) listener();
      log.error({ err: error }, `${file}: keeping the last good roots: ${error.message}`);
    },
  });
  return {
    get bundle(): AuthorityBundle {
      return followed.bundle;
    },
    onChange: (listener) => followed.onChange(listener),
    onFailure: (listener) => void failed.add(listener),
    stop: () => followed.stop(),
  };
}

/**
 * Returns the roots that workloads receive: those that verify the serving certificate, then those of istiod's CA, each
 * once.
 */
export function distributedRoots(servingRoots: TrustSource | undefined, authority: TrustSource) {
  const sources = servingRoots === undefined ? [authority] : [servingRoots, authority];
  return {
    current: (): string => {
      const pems = sources.flatMap(({ bundle }) => bundle.roots.map((root) => root.toString().trim()));
      return [...new Set(pems)].map((pem) => `${pem}\n`).join("");
    },
    onChange: (listener: () => void): (() => void) => {
      const ends = sources.map((source) => source.onChange(listener));
      return () => {
        for (const end of ends) end();
      };
    },
  };
}
