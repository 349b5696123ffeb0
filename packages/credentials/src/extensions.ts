import { readBoolean, readInteger, readObjectIdentifier } from "./asn1-values.js";
import { type DerReader, derTags, explicitTag, implicitTag, malformed, readWhole } from "./der.js";
import { readGeneralName } from "./names.js";

/** An extension of a certificate or revocation list. */
export interface Extension {
  /** Its object identifier in hexadecimal. */
  readonly type: string;
  readonly value: Buffer;
}

/** Reads an Extension. */
export function readExtension(reader: DerReader): Extension {
  return reader.within(derTags.sequence, (fields) => {
    const type = readObjectIdentifier(fields);
    fields.optional(derTags.boolean, readBoolean);
    return { type, value: fields.take(derTags.octetString) };
  });
}

/** Reads the extensions of a certificate or revocation list. */
export function readExtensions(reader: DerReader): readonly Extension[] {
  return reader.list(derTags.sequence, readExtension);
}

/**
 * Returns the value of an extension, which must be the only one of its type. Undefined if there is none.
 *
 * @param type its object identifier in hexadecimal
 */
export function extensionValue<T>(
  extensions: readonly Extension[],
  type: string,
  read: (reader: DerReader) => T,
): T | undefined {
  const [found, ...more] = extensions.filter((extension) => extension.type === type);
  if (found === undefined) return undefined;
  if (more.length > 0) return malformed();
  return readWhole(found.value, read);
}

/** Reads an AuthorityKeyIdentifier (RFC 5280, 4.2.1.1). */
export function readAuthorityKey(reader: DerReader): void {
  reader.within(derTags.sequence, (fields) => {
    fields.optional(implicitTag(0), (field) => field.take(implicitTag(0)));
    const issuer = explicitTag(1);
    fields.optional(issuer, (field) => field.list(issuer, readGeneralName));
    fields.optional(implicitTag(2), (field) => readInteger(field, implicitTag(2)));
  });
}
