import { KeyUsageFlags } from "../x509.js";
import { certificateName } from "../authority/issuer-path.js";
import type { AuthorityBundle, SigningBundle } from "../authority/signing-bundle.js";
import { CaError } from "../errors.js";
import { parseCertificate } from "../identity/parsed-certificate.js";
import { emptyRevocationList } from "./empty-list.js";
import { currentLists } from "./revocation-check.js";
import { parseRevocationLists, type RevocationList } from "./revocation-list.js";

/** The revocation lists that an operator gives, and those that are used until then. */
export interface BundleListsOptions {
  /** PEM, or the reason why it cannot be read. Blank or undefined: the operator gives none. */
  readonly pem: string | CaError | undefined;
  /** Names the text in messages, such as a file. */
  readonly name: string;
  /** The last good lists. Undefined: there were never any good ones. */
  readonly last?: readonly RevocationList[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * Returns a bundle with the revocation lists of an operator. Without lists, nothing is checked for revocation. Invalid
 * lists never delay the certificates and the key: the bundle then has the last good lists and the reason.
 *
 * If the last good lists lack one of a new signing certificate, with which Envoy would reject everything that it
 * issues, its own key adds an empty one. Revoked certificates stay revoked.
 */
export function withRevocationLists(
  bundle: SigningBundle,
  { pem = "", name, last = [], now }: BundleListsOptions,
): SigningBundle {
  const { revocationProblem: _, ...others } = bundle;
  if (typeof pem === "string" && pem.trim() === "") return { ...others, ...textOf([]) };
  try {
    if (typeof pem !== "string") throw pem;
    const lists = parseRevocationLists(pem, name);
    checkCoverage(lists, bundle, name, now);
    return { ...others, ...textOf(lists) };
  } catch (error) {
    const { message } = CaError.from(error, "untrusted", name);
    return { ...others, ...textOf(supplemented(last, bundle, now)), revocationProblem: message };
  }
}

/**
 * Returns what is wrong with the revocation lists of a bundle, and its consequence; undefined if nothing is.
 *
 * @param now milliseconds since the epoch
 */
export function revocationFault(
  { revocationProblem, revocationLists }: Pick<AuthorityBundle, "revocationProblem" | "revocationLists">,
  now: number,
): string | undefined {
  const expiry = revocationExpiry(revocationLists);
  const expired =
    expiry === undefined || expiry > now
      ? undefined
      : `a revocation list expired at ${new Date(expiry).toISOString()}, certificates of its CA are rejected`;
  if (revocationProblem === undefined) return expired;
  const meanwhile =
    revocationLists.length > 0
      ? "keeping the last good revocation lists"
      : "there are no last good revocation lists, client certificates are rejected";
  return [revocationProblem, meanwhile, ...(expired === undefined ? [] : [expired])].join("; ");
}

/** Returns the time from which one of the lists is expired, in milliseconds since the epoch; undefined for never. */
export function revocationExpiry(lists: readonly RevocationList[]): number | undefined {
  const times = lists.flatMap(({ nextUpdate }) => nextUpdate ?? []);
  return times.length === 0 ? undefined : Math.min(...times);
}

function textOf(lists: readonly RevocationList[]): Pick<SigningBundle, "revocationLists" | "revocationListsPem"> {
  return { revocationLists: lists, revocationListsPem: lists.map((list) => list.pem).join("") };
}

/** Envoy rejects every certificate of a CA without a current list, once there is a list of any CA. */
function checkCoverage(
  lists: readonly RevocationList[],
  { authorities }: Pick<SigningBundle, "authorities">,
  name: string,
  now: number,
): void {
  for (const authority of authorities) {
    try {
      currentLists(authority, lists, now);
    } catch (error) {
      if (!(error instanceof CaError)) throw error;
      throw new CaError(error.code, `${name}: ${certificateName(authority)} ${error.message}`, { cause: error });
    }
  }
}

/** Returns the lists, with an empty one of the signing certificate if there is none and it may sign lists. */
function supplemented(lists: readonly RevocationList[], bundle: SigningBundle, now: number): readonly RevocationList[] {
  const { certificate } = bundle;
  if (lists.length === 0 || lists.some((list) => list.isSignedBy(certificate))) return lists;
  const { keyUsages } = parseCertificate(certificate);
  if (keyUsages !== undefined && (keyUsages & KeyUsageFlags.cRLSign) === 0) return lists;
  return [...lists, ...parseRevocationLists(emptyRevocationList(bundle, now), certificateName(certificate))];
}
