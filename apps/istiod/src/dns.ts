import { Resolver } from "node:dns/promises";
import type { ResolveHostname } from "@istiod/service-discovery";

/** Returns a resolver that queries the system's DNS servers: two attempts of at most 5 s each. */
export function systemDns(): ResolveHostname {
  const resolver = new Resolver({ timeout: 5000, tries: 2 });
  return async (hostname, family) => {
    try {
      return family === 4
        ? await resolver.resolve4(hostname, { ttl: true })
        : await resolver.resolve6(hostname, { ttl: true });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ENODATA" || code === "ENOTFOUND") return [];
      throw error;
    }
  };
}
