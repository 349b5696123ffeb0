import type { Fields } from "../../decoding/fields.js";
import { warnOfOthers } from "./field-rules.js";
import { isSubdomain } from "../../validation/kubernetes/names.js";
import { expectedHostname, isAnyText, isGatewayApiHostname, requiredEnum, requiredString } from "./checked-fields.js";
import { decodeLocalReference, type LocalReference } from "./references.js";

/** Validation of the certificate of a backend. */
export interface BackendTlsValidation {
  readonly caCertificateRefs: readonly LocalReference[];
  /** `System` for the certificates of the proxy's system. */
  readonly wellKnownCACertificates?: string;
  /** SNI of connections, which the certificate must match if there are no subject alternative names. */
  readonly hostname: string;
  /** Names of which the certificate must have one: hostnames and URIs. */
  readonly subjectAltNames: readonly string[];
}

/** Decodes the validation of a backend's certificate. */
export function decodeBackendTlsValidation(fields: Fields): BackendTlsValidation {
  warnOfOthers(fields, ["caCertificateRefs", "wellKnownCACertificates", "hostname", "subjectAltNames"]);
  const hasReferences = fields.list("caCertificateRefs").length > 0;
  if (hasReferences && fields.string("wellKnownCACertificates") !== "")
    fields.fault(["wellKnownCACertificates"], fields.string("wellKnownCACertificates"), "none with caCertificateRefs");
  return {
    caCertificateRefs: fields.list("caCertificateRefs").map(decodeLocalReference),
    ...fields.optionalString("wellKnownCACertificates"),
    hostname: requiredString(fields, "hostname", isSubdomain, "a domain name in lower case"),
    subjectAltNames: fields
      .list("subjectAltNames")
      .map((name) =>
        requiredEnum(name, "type", ["Hostname", "URI"]) === "Hostname"
          ? requiredString(name, "hostname", isGatewayApiHostname, expectedHostname)
          : requiredString(name, "uri", isAnyText, "a URI, such as spiffe://domain/path"),
      ),
  };
}
