import { reasonOf } from "@istiod/runtime";
import { DerReader } from "../der/reader.js";
import { contextPrimitive, tags } from "../der/tags.js";
import { CaError } from "../errors.js";
import type { SigningRequest } from "../authority/signing-request.js";

/** Object identifiers in DER: id-at-organizationName, extensionRequest (PKCS#9) and subjectAltName. */
const oids = { organization: "55040a", extensionRequest: "2a864886f70d01090e", alternativeNames: "551d11" } as const;

const uriTag = contextPrimitive(6);

/**
 * Checks that a signing request, which an external signer sees as it is, asks for exactly one identity and nothing
 * else: the subject is empty or an empty organization, the only extension is the subject alternative name, and its only
 * name is the URI of the identity.
 *
 * @throws CaError `csr`
 */
export function checkRequestIdentity({ subject, attributes }: SigningRequest, identity: string): void {
  try {
    checkSubject(new DerReader(subject));
    const names = alternativeNames(new DerReader(attributes));
    const uri = names.contents(uriTag, "subject alternative name").toString("latin1");
    names.end("subject alternative names");
    if (uri !== identity)
      throw new CaError("csr", `asks for ${JSON.stringify(uri.slice(0, maxQuoted))}, the caller is ${identity}`);
  } catch (error) {
    throw new CaError("csr", `signing request: ${reasonOf(error)}`, {
      cause: error,
    });
  }
}

/** Longest name in a message, in characters. */
const maxQuoted = 200;

/** Go's clients send an empty organization, ztunnel sends no subject. */
function checkSubject(subject: DerReader): void {
  if (subject.isAtEnd) return;
  const names = subject.enter(tags.set, "subject");
  const name = names.enter(tags.sequence, "subject");
  names.end("subject");
  subject.end("subject");
  const type = name.contents(tags.oid, "subject attribute").toString("hex");
  const value = name.contents(name.nextTag ?? tags.utf8String, "subject attribute");
  name.end("subject attribute");
  if (type !== oids.organization || value.length > 0)
    throw new CaError("csr", "its subject must be empty, because the identity is in the subject alternative name");
}

/** Returns the subject alternative names, which must be the only extension that is requested. */
function alternativeNames(attributes: DerReader): DerReader {
  if (attributes.isAtEnd) throw new CaError("csr", "requests no subject alternative name");
  const attribute = attributes.enter(tags.sequence, "attribute");
  attributes.end("attributes");
  if (attribute.contents(tags.oid, "attribute").toString("hex") !== oids.extensionRequest)
    throw new CaError("csr", "the only attribute accepted is extensionRequest");
  const values = attribute.enter(tags.set, "extension request");
  attribute.end("attribute");
  const extensions = values.enter(tags.sequence, "extensions");
  values.end("extension request");
  const extension = extensions.enter(tags.sequence, "extension");
  extensions.end("extensions");
  if (extension.contents(tags.oid, "extension").toString("hex") !== oids.alternativeNames)
    throw new CaError("csr", "the only extension accepted is the subject alternative name");
  if (extension.nextTag === tags.boolean) extension.contents(tags.boolean, "criticality");
  const value = new DerReader(extension.contents(tags.octetString, "subject alternative names"));
  extension.end("extension");
  const names = value.enter(tags.sequence, "subject alternative names");
  value.end("subject alternative names");
  return names;
}
