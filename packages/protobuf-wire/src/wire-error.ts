/** The reasons for which bytes cannot be decoded. */
export type WireErrorCode = "truncated" | "invalid-varint" | "invalid-wire-type" | "compressed" | "too-long";

/** Bytes that are not a protobuf message, or not a gRPC frame that is accepted. */
export class WireError extends RangeError {
  readonly code: WireErrorCode;

  constructor(code: WireErrorCode, message: string) {
    super(message);
    this.name = "WireError";
    this.code = code;
  }
}
