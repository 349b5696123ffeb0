import { parseCertificates } from "../pem.js";
import { type AuthorityBundle, pemOf } from "./signing-bundle.js";

/**
 * Returns the bundle of an authority of which only the roots are known.
 *
 * @param where names the text in messages, such as a file
 * @throws CaError `malformed`
 */
export function rootsBundle(pem: string, where: string): AuthorityBundle {
  const roots = parseCertificates(pem, where);
  return {
    chain: [],
    roots,
    rootsPem: roots.map(pemOf).join(""),
    notAfter: Math.max(...roots.map(({ validTo }) => Date.parse(validTo))),
    revocationLists: [],
    revocationListsPem: "",
  };
}
