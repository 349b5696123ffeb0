import { derTags, explicitTag, ifWellFormed, readWhole } from "./der.js";

/** Reports whether bytes have the outline of a successful OCSP response (RFC 6960, 4.2.1). */
export function isOcspResponse(bytes: Uint8Array): boolean {
  return (
    ifWellFormed(() =>
      readWhole(bytes, (reader) =>
        reader.within(derTags.sequence, (fields) => {
          const status = fields.take(derTags.enumerated);
          fields.take(explicitTag(0));
          return status.equals(successful);
        }),
      ),
    ) === true
  );
}

const successful = Buffer.of(0);
