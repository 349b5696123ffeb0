/**
 * Returns a WebAssembly module of the proxy-wasm ABI 0.2.1 that answers every request itself.
 *
 * @param status HTTP status of its responses
 * @param body body of its responses, in ASCII
 */
export function answeringModule(status: number, body: string): Uint8Array {
  const i32 = 0x7f;
  const type = (parameters: number, results: number): number[] => [
    0x60,
    ...list(Array.from({ length: parameters }, () => [i32])),
    ...list(Array.from({ length: results }, () => [i32])),
  ];
  const types = { respond: 0, nothing: 1, allocate: 2, create: 3, onHeaders: 4 };
  const respond = 0;
  const response = [status, 0, 0, bodyAt, body.length, 0, 0, -1].flatMap(constant);
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
    ...section(1, list([type(8, 1), type(0, 0), type(1, 1), type(2, 0), type(3, 1)])),
    ...section(2, list([[...text("env"), ...text("proxy_send_local_response"), 0x00, types.respond]])),
    ...section(3, list([[types.nothing], [types.allocate], [types.create], [types.onHeaders]])),
    ...section(5, list([[0x00, 1]])),
    ...section(
      7,
      list([
        [...text("memory"), 0x02, 0],
        [...text("proxy_abi_version_0_2_1"), 0x00, 1],
        [...text("proxy_on_memory_allocate"), 0x00, 2],
        [...text("proxy_on_context_create"), 0x00, 3],
        [...text("proxy_on_request_headers"), 0x00, 4],
      ]),
    ),
    ...section(
      10,
      list([
        code([]),
        code(constant(allocatedAt)),
        code([]),
        // Respond, drop the result, and stop the iteration of filters.
        code([...response, 0x10, respond, 0x1a, ...constant(1)]),
      ]),
    ),
    ...section(11, list([[0x00, ...constant(bodyAt), 0x0b, ...text(body)]])),
  ]);
}

/** Addresses in the module's memory: of the body, and of what Envoy passes to the module. */
const bodyAt = 16;
const allocatedAt = 1024;

function section(id: number, content: readonly number[]): number[] {
  return [id, ...unsigned(content.length), ...content];
}

function list(items: readonly (readonly number[])[]): number[] {
  return [...unsigned(items.length), ...items.flat()];
}

function text(value: string): number[] {
  return [...unsigned(value.length), ...Buffer.from(value)];
}

/** A function without local variables. */
function code(instructions: readonly number[]): number[] {
  const body = [0x00, ...instructions, 0x0b];
  return [...unsigned(body.length), ...body];
}

/** The instruction `i32.const`. */
function constant(value: number): number[] {
  return [0x41, ...signed(value)];
}

/** Encodes an integer as LEB128. */
function unsigned(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)];
}

function signed(value: number): number[] {
  const rest = value >> 7;
  const low = value & 0x7f;
  const isLast = (rest === 0 && (low & 0x40) === 0) || (rest === -1 && (low & 0x40) !== 0);
  return isLast ? [low] : [low | 0x80, ...signed(rest)];
}
