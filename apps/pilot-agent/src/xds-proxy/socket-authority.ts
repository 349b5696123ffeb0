import { Duplex } from "node:stream";

/** Length of an HTTP/2 client's preface and of a frame's header in bytes (RFC 9113, sections 3.4 and 4.1). */
const PREFACE_BYTES = 24;
const FRAME_HEADER_BYTES = 9;
const HEADERS_FRAME = 1;
/** Greatest length of a frame that the server's settings allow. It rejects longer ones, which need not be kept back. */
const MAX_FRAME_BYTES = 16_384;
/** The first bytes of a literal `:authority` field, with and without indexing (RFC 7541, section 6.2). */
const LITERAL_AUTHORITY = [0x41, 0x01, 0x11];
/** The greatest length that fits in one byte of a string literal. */
const MAX_SHORT_LENGTH = 126;

/**
 * Rewrites the path of a socket as `:authority` to a valid one of the same length, in what an HTTP/2 client sends.
 * grpc-java (1.85) sends the path of the socket that it connects to, which node:http2 rejects because of its slashes.
 * Header compression stays intact, since lengths do not change.
 */
export class SocketAuthorityRewriter {
  readonly #invalid: readonly Buffer[];
  readonly #valid: Buffer;
  #pending: Buffer = Buffer.alloc(0);
  /** Bytes to copy: the preface, or the rest of a frame without headers. */
  #copied = PREFACE_BYTES;

  constructor(path: string) {
    const fits = Buffer.byteLength(path) <= MAX_SHORT_LENGTH;
    this.#valid = Buffer.from(path.replaceAll("/", "-"));
    this.#invalid = fits
      ? LITERAL_AUTHORITY.map((first) => Buffer.from([first, Buffer.byteLength(path), ...Buffer.from(path)]))
      : [];
  }

  /** Returns the bytes that can be passed on. At most one frame of headers is kept back. */
  rewrite(chunk: Buffer): Buffer {
    const bytes = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    let at = 0;
    while (at < bytes.length) {
      if (this.#copied > 0) {
        const length = Math.min(this.#copied, bytes.length - at);
        this.#copied -= length;
        at += length;
        continue;
      }
      if (bytes.length - at < FRAME_HEADER_BYTES) break;
      const length = bytes.readUIntBE(at, 3);
      const end = at + FRAME_HEADER_BYTES + length;
      if (bytes[at + 3] !== HEADERS_FRAME || length > MAX_FRAME_BYTES) this.#copied = end - at;
      else if (bytes.length < end) break;
      else {
        this.#rewriteHeaders(bytes.subarray(at + FRAME_HEADER_BYTES, end));
        at = end;
      }
    }
    this.#pending = Buffer.from(bytes.subarray(at));
    return bytes.subarray(0, at);
  }

  #rewriteHeaders(block: Buffer): void {
    for (const invalid of this.#invalid) {
      const at = block.indexOf(invalid);
      if (at >= 0) this.#valid.copy(block, at + 2);
    }
  }
}

/** Returns a connection whose client may name the socket's path as its authority. */
export function withSocketAuthority(socket: Duplex, path: string): Duplex {
  const rewriter = new SocketAuthorityRewriter(path);
  const rewritten = new Duplex({
    read: () => void socket.resume(),
    write: (chunk: Buffer, _, done) => void socket.write(chunk, done),
    final: (done) => void socket.end(done),
    destroy: (error, done) => {
      socket.destroy();
      done(error);
    },
  });
  socket.on("data", (chunk: Buffer) => {
    if (!rewritten.push(rewriter.rewrite(chunk))) socket.pause();
  });
  socket.on("end", () => void rewritten.push(null));
  socket.on("error", () => rewritten.destroy());
  socket.on("close", () => rewritten.destroy());
  return rewritten;
}
