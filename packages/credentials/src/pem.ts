/** A block of PEM as BoringSSL reads it. */
export interface PemBlock {
  readonly name: string;
  readonly der: Buffer;
  /** Lines before an empty line, each with its end. Those of an encrypted key are the only valid ones. */
  readonly header: string;
  /** The block has no end or another one, or its body is not base64. Envoy rejects the text then. */
  readonly isMalformed: boolean;
}

/** BoringSSL reads at most 253 octets as a line. The rest of a longer line is the next one. */
const lineParts = /[^\n]{0,252}\n|[^\n]{1,253}/g;
const begin = /^-----BEGIN ([^\0]*)-----$/;

/** Returns the blocks of a PEM text up to the first malformed one. Lines between blocks are ignored. */
export function pemBlocks(bytes: Uint8Array): readonly PemBlock[] {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
  const lines = (text.match(lineParts) ?? []).map(trimmedEnd);
  const blocks: PemBlock[] = [];
  for (let at = 0; at < lines.length; at++) {
    const name = begin.exec(lines[at] ?? "")?.[1];
    if (name === undefined) continue;
    const first = at + 1;
    at = lines.findIndex((line, n) => n >= first && line.startsWith("-----END "));
    if (at < 0) return [...blocks, malformedBlock(name)];
    const block = blockOf(name, lines.slice(first, at), lines[at] === `-----END ${name}-----`);
    blocks.push(block);
    if (block.isMalformed) return blocks;
  }
  return blocks;
}

function blockOf(name: string, content: readonly string[], hasEnd: boolean): PemBlock {
  const empty = content.indexOf("");
  const header = content.slice(0, Math.max(empty, 0)).map((line) => `${line}\n`);
  const body = content
    .slice(empty + 1)
    .join("")
    .replaceAll(/[ \t\r]/g, "");
  if (!hasEnd || body === "" || !base64.test(body)) return malformedBlock(name);
  return { name, header: header.join(""), der: Buffer.from(body, "base64"), isMalformed: false };
}

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

const malformedBlock = (name: string): PemBlock => ({ name, header: "", der: Buffer.of(), isMalformed: true });

/** Returns a line without white space and control characters at its end. */
function trimmedEnd(line: string): string {
  let end = line.length;
  while (end > 0 && line.charCodeAt(end - 1) <= 0x20) end--;
  return line.slice(0, end);
}

/** Octets of the initialization vector by cipher. */
const vectors: Readonly<Record<string, number>> = {
  "DES-CBC": 8,
  "DES-EDE3-CBC": 8,
  "AES-128-CBC": 16,
  "AES-192-CBC": 16,
  "AES-256-CBC": 16,
};

/** Reports whether a header is that of an encrypted block (RFC 1421, 4.6.1), with a cipher that BoringSSL knows. */
export function isEncryption(header: string): boolean {
  const [, cipher = "", vector = ""] =
    /^Proc-Type: 4,ENCRYPTED[^\n]*\nDEK-Info: ([A-Z0-9-]*)[^]?([0-9A-Fa-f]*)/.exec(header) ?? [];
  const octets = Object.hasOwn(vectors, cipher) ? vectors[cipher] : undefined;
  return octets !== undefined && vector.length >= octets * 2;
}
