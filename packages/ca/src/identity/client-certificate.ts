import { namesOf } from "../authority/subject-alternative-names.js";
import { CaError } from "../errors.js";
import type { Authenticator } from "./authenticator.js";

/** Authenticates callers by the names in their client certificate, which TLS has verified. Workloads renew this way. */
export const clientCertificate: Authenticator = {
  name: "client certificate",
  async authenticate({ verifiedCertificate }) {
    if (!verifiedCertificate) return undefined;
    let identities: string[];
    try {
      identities = namesOf(verifiedCertificate);
    } catch (error) {
      throw CaError.from(error, "unauthenticated", "client certificate cannot be read");
    }
    if (identities.length === 0) throw new CaError("unauthenticated", "client certificate has no names");
    return { identities, by: this.name };
  },
};
