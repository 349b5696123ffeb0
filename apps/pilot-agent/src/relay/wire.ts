import { AgentError } from "../errors.js";

/**
 * The last string of a field in a serialized message, found by skipping the others; they are not decoded.
 *
 * @throws AgentError `discovery` where the bytes are no protobuf message
 */
export function stringField(message: Buffer, field: number): string {
  let at = 0;
  let found = "";
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = message[at++];
      if (byte === undefined) break;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw malformed();
  };
  while (at < message.length) {
    const tag = varint();
    const wireType = tag % 8;
    if (wireType === 0) varint();
    else if (wireType === 1) at += 8;
    else if (wireType === 5) at += 4;
    else if (wireType === 2) {
      const length = varint();
      if (at + length > message.length) throw malformed();
      if (Math.floor(tag / 8) === field) found = message.toString("utf8", at, at + length);
      at += length;
    } else throw malformed();
  }
  if (at > message.length) throw malformed();
  return found;
}

function malformed(): AgentError {
  return new AgentError("discovery", "a discovery message is not a protobuf message");
}
