import { delimitedFieldSize, writeString } from "@istiod/protobuf-wire";

/**
 * Encodes the fields of a response that differ between clients: type URL, nonce and version. Fields of a protobuf
 * message may come in any order, so a shared body can follow.
 */
export function encodeResponseHead(typeUrl: string, nonce: string, version: string): Buffer {
  const lengths = [Buffer.byteLength(version), Buffer.byteLength(typeUrl), Buffer.byteLength(nonce)] as const;
  const head = Buffer.allocUnsafeSlow(lengths.reduce((sum, length) => sum + delimitedFieldSize(length), 0));
  // Both variants use these field numbers: version_info and system_version_info are 1, type_url is 4, nonce is 5.
  let offset = writeString(head, 0, 1, version, lengths[0]);
  offset = writeString(head, offset, 4, typeUrl, lengths[1]);
  writeString(head, offset, 5, nonce, lengths[2]);
  return head;
}
