import { readAlgorithm, readBitString, readBoolean, readInteger, readTime } from "./asn1-values.js";
import { derTags, type DerReader, explicitTag, ifWellFormed, implicitTag, malformed, readDer } from "./der.js";
import { type Extension, extensionValue, readAuthorityKey, readExtensions } from "./extensions.js";
import { readGeneralName, readName, readNamePart } from "./names.js";

/** A revocation list that Envoy can read. */
export interface RevocationList {
  /**
   * The time from which verifiers reject the list, `nextUpdate`, in milliseconds since the Unix epoch; undefined if it
   * has none.
   */
  readonly nextUpdate?: number;
}

const issuingDistributionPoint = "551d1c";
const authorityKeyIdentifier = "551d23";
const reasonCode = "551d15";

/**
 * Returns a revocation list (RFC 5280, 5.1) as BoringSSL reads it (crypto/x509/x_crl.cc); undefined if it is malformed.
 * Bytes after it are ignored.
 */
export function parseRevocationList(der: Uint8Array): RevocationList | undefined {
  return readDer(der, (reader) =>
    reader.within(derTags.sequence, (fields) => {
      const list = fields.within(derTags.sequence, readContent);
      readAlgorithm(fields);
      readBitString(fields);
      return list;
    }),
  );
}

function readContent(fields: DerReader): RevocationList {
  const version = fields.optional(derTags.integer, (field) => readInteger(field));
  if (version !== undefined && !version.equals(version2)) malformed();
  readAlgorithm(fields);
  readName(fields);
  readTime(fields);
  const hasEnd = fields.tag === derTags.utcTime || fields.tag === derTags.generalizedTime;
  const nextUpdate = hasEnd ? readTime(fields) : undefined;
  const entries = fields.optional(derTags.sequence, (field) => field.list(derTags.sequence, readEntry)) ?? [];
  const extensions = fields.optional(explicitTag(0), (field) => field.within(explicitTag(0), readExtensions));
  if (extensions !== undefined) checkExtensions(extensions, version !== undefined);
  checkEntries(entries, version !== undefined);
  return nextUpdate === undefined ? {} : { nextUpdate };
}

const version2 = Buffer.of(1);

type Entry = readonly Extension[] | undefined;

/** Returns the extensions of a revoked certificate. */
function readEntry(reader: DerReader): Entry {
  return reader.within(derTags.sequence, (fields) => {
    readInteger(fields);
    readTime(fields);
    return fields.optional(derTags.sequence, readExtensions);
  });
}

/** Lists without a version have no extensions, and a list of extensions is not empty. */
function checkExtensions(extensions: readonly Extension[], hasVersion: boolean): void {
  if (!hasVersion || extensions.length === 0) malformed();
  extensionValue(extensions, issuingDistributionPoint, readDistributionPoint);
  extensionValue(extensions, authorityKeyIdentifier, readAuthorityKey);
}

/** Entries after one whose reason is malformed are not checked: BoringSSL does not use the list then, but takes it. */
function checkEntries(entries: readonly Entry[], hasVersion: boolean): void {
  for (const extensions of entries) {
    if (extensions === undefined) continue;
    if (!hasVersion || extensions.length === 0) malformed();
    const reason = ifWellFormed(() => [extensionValue(extensions, reasonCode, readReason)]);
    if (reason === undefined) return;
  }
}

const readReason = (reader: DerReader): Buffer => readInteger(reader, derTags.enumerated);

/** Reads an IssuingDistributionPoint (RFC 5280, 5.2.5). */
function readDistributionPoint(reader: DerReader): void {
  reader.within(derTags.sequence, (fields) => {
    fields.optional(explicitTag(0), (field) => field.within(explicitTag(0), readPointName));
    for (const number of [1, 2, 3, 4, 5]) {
      const tag = implicitTag(number);
      fields.optional(tag, (field) => (number === 3 ? readBitString(field, tag) : readBoolean(field, tag)));
    }
  });
}

function readPointName(reader: DerReader): void {
  if (reader.tag === explicitTag(0)) reader.list(explicitTag(0), readGeneralName);
  else reader.list(explicitTag(1), readNamePart);
}
