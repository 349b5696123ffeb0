import { readStringField, WireError } from "@istiod/protobuf-wire";
import { AgentError } from "../errors.js";

/**
 * Returns the type URL of an encoded discovery message without decoding the message.
 *
 * @param field number of the type URL's field
 * @throws AgentError `discovery` if the bytes are not a protobuf message
 */
export function typeUrlIn(message: Buffer, field: number): string {
  try {
    return readStringField(message, field);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    throw new AgentError("discovery", `malformed discovery message: ${error.message}`);
  }
}
