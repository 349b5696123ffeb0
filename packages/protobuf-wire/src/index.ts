export { ByteQueue } from "./byte-queue.js";
export {
  encodeMessageField,
  encodeStringField,
  encodeVarintField,
  joinEncoded,
  messageFieldParts,
} from "./encoded-parts.js";
export { FieldReader, readStringField } from "./field-reader.js";
export { delimitedFieldSize, writeDelimitedHeader, writeString } from "./field-writer.js";
export { encodeFrame, type Frame, framePrefixLength, FrameReader, readFrameLength } from "./grpc-frame.js";
export { readVarint, varintEnd, varintSize, writeVarint } from "./varint.js";
export { WireError, type WireErrorCode } from "./wire-error.js";
export { skipValue, tagOf, type WireType, wireTypes } from "./wire-type.js";
