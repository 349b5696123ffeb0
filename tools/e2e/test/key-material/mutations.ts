import fc from "fast-check";

/** An element of DER; a constructed one and one that wraps DER have elements within. */
interface Node {
  tag: number;
  /** Octets before the elements within, such as the number of unused bits. */
  prefix: Buffer;
  content: Buffer | Node[];
  /** Encodes the length in more octets than it needs. */
  longLength?: boolean;
}

const wrappers: readonly number[] = [0x03, 0x04];

function parse(der: Buffer): Node[] | undefined {
  const nodes: Node[] = [];
  for (let at = 0; at < der.length;) {
    const tag = der[at] ?? 0;
    const first = der[at + 1] ?? 0x80;
    const octets = first < 0x80 ? 0 : first - 0x80;
    if ((tag & 0x1f) === 0x1f || first === 0x80 || octets > 3) return undefined;
    const start = at + 2 + octets;
    const length = octets === 0 ? first : der.readUIntBE(at + 2, octets);
    if (start + length > der.length) return undefined;
    nodes.push(nodeOf(tag, der.subarray(start, start + length)));
    at = start + length;
  }
  return nodes;
}

function nodeOf(tag: number, content: Buffer): Node {
  const prefix = tag === 0x03 ? content.subarray(0, 1) : Buffer.of();
  const inner = content.subarray(prefix.length);
  const within = (tag & 0x20) !== 0 || wrappers.includes(tag) ? parse(inner) : undefined;
  return within === undefined || within.length === 0
    ? { tag, prefix: Buffer.of(), content }
    : { tag, prefix, content: within };
}

function encode({ tag, prefix, content, longLength }: Node): Buffer {
  const body = Buffer.concat([prefix, ...(Array.isArray(content) ? content.map(encode) : [content])]);
  return Buffer.concat([Buffer.of(tag), lengthOf(body.length, longLength === true), body]);
}

function lengthOf(length: number, isLong: boolean): Buffer {
  if (length < 0x80 && !isLong) return Buffer.of(length);
  const octets = length < 0x100 ? 1 : length < 0x1_0000 ? 2 : 3;
  const width = isLong && length >= 0x80 ? octets + 1 : octets;
  const bytes = Buffer.alloc(width);
  bytes.writeUIntBE(length, 0, width);
  return Buffer.concat([Buffer.of(0x80 + width), bytes]);
}

/** Every list of elements, so that each can be changed within its list. */
function listsIn(nodes: Node[]): Node[][] {
  return [nodes, ...nodes.flatMap(({ content }) => (Array.isArray(content) ? listsIn(content) : []))];
}

const tags = [
  0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x0a, 0x0c, 0x10, 0x11, 0x13, 0x14, 0x16, 0x17, 0x18, 0x1c, 0x1e, 0x1f, 0x24,
  0x30, 0x31, 0x80, 0x81, 0x82, 0x83, 0x84, 0x86, 0x87, 0x88, 0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0x00, 0x20, 0x2c,
];

const contents = [
  "",
  "00",
  "01",
  "02",
  "80",
  "ff",
  "0000",
  "0001",
  "0080",
  "00ff",
  "ff80",
  "ffff",
  "8001",
  "0780",
  "0101",
  "08",
  "2a864886f70d01010b",
  "8037",
  "2a80",
  "2aff",
  "550403",
  "551d11",
  "551d0f",
  "551d1c",
  "551d15",
  "551d23",
  "c328",
  "d800",
  "fffe",
  "0000d800",
  "000041",
  "0041",
  "efbfbf",
  "2b81040021",
  "2b81040022",
  "2a8648ce3d030107",
].map((hex) => Buffer.from(hex, "hex"));

const times = [
  "250101000000Z",
  "2501010000Z",
  "250101000000+0000",
  "250101000000-2359",
  "250101000000+2400",
  "250230000000Z",
  "240229000000Z",
  "250101240000Z",
  "250101000060Z",
  "490101000000Z",
  "500101000000Z",
  "20250101000000Z",
  "20250101000000.0Z",
  "20250101000000+0000",
  "00000101000000Z",
  "99991231235959Z",
  "20250132000000Z",
  "",
].map((text) => Buffer.from(text));

interface Change {
  readonly list: number;
  readonly at: number;
  readonly other: number;
  readonly way: number;
}

const change: fc.Arbitrary<Change> = fc.record({
  list: fc.nat(),
  at: fc.nat(),
  other: fc.nat(),
  way: fc.nat({ max: 11 }),
});

const pick = <T>(values: readonly T[], n: number): T => values[n % values.length] as T;

const ways: readonly ((list: Node[], at: number, other: number) => void)[] = [
  (list, at, other) => void ((list[at] as Node).tag = pick(tags, other)),
  (list, at) => void list.splice(at, 1),
  (list, at) => void list.splice(at, 0, structuredCloneOf(list[at] as Node)),
  (list, at, other) =>
    void list.splice(at, 0, { tag: pick(tags, other), prefix: Buffer.of(), content: pick(contents, other >> 8) }),
  (list, at, other) => void ((list[at] as Node).content = pick(contents, other)),
  (list, at) => void ((list[at] as Node).longLength = true),
  (list, at, other) => void ((list[at] as Node).prefix = Buffer.of(other & 0xff)),
  (list, at, other) => void list.splice(at, 1, list[other % list.length] as Node),
  (list, at) => void list.reverse().splice(at, 0),
  (list, at, other) => {
    const node = list[at] as Node;
    if (Array.isArray(node.content) || node.content.length === 0) return;
    const bytes = Buffer.from(node.content);
    bytes[other % bytes.length] = (other >> 8) & 0xff;
    node.content = bytes;
  },
  (list, at, other) => {
    const node = list[at] as Node;
    if (!Array.isArray(node.content)) node.content = Buffer.concat([node.content, Buffer.of(other & 0xff)]);
  },
  (list, at, other) => {
    const dates = list.filter(({ tag }) => tag === 0x17 || tag === 0x18);
    const node = dates[at % Math.max(dates.length, 1)] ?? (list[at] as Node);
    node.content = pick(times, other);
  },
];

function structuredCloneOf(node: Node): Node {
  const { content } = node;
  return { ...node, content: Array.isArray(content) ? content.map(structuredCloneOf) : content };
}

function changedDer(der: Buffer, changes: readonly Change[]): Buffer {
  const tree = parse(der) ?? [];
  for (const { list, at, other, way } of changes) {
    const found = pick(listsIn(tree), list);
    if (found.length > 0) pick(ways, way)(found, at % found.length, other);
  }
  return Buffer.concat(tree.map(encode));
}

/** Changes of DER: one to three in its tree, sometimes a damaged octet, missing or additional octets. */
export const derChange: fc.Arbitrary<(der: Buffer) => Buffer> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.array(change, { minLength: 1, maxLength: 3 }).map((c) => (der: Buffer) => changedDer(der, c)),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.nat(), fc.nat({ max: 255 })).map(([at, octet]) => (der: Buffer) => {
      const bytes = Buffer.from(der);
      bytes[at % bytes.length] = octet;
      return bytes;
    }),
  },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 6 }).map((more) => (der: Buffer) => Buffer.concat([der, more])) },
  { weight: 1, arbitrary: fc.nat().map((length) => (der: Buffer) => der.subarray(0, length % der.length)) },
);

const snippets = [
  "\n",
  "\n\n",
  " ",
  "\t",
  "\r\n",
  "=",
  "==",
  "-",
  "A",
  "AAAA\n",
  "a: b\n\n",
  "# text\n",
  "Proc-Type: 4,ENCRYPTED\n",
  "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00112233445566778899AABBCCDDEEFF\n\n",
  "\0",
  "\u000b",
  "DEK-Info: DES-CBC,0011\n\n",
  "-----BEGIN CERTIFICATE-----\n",
  "-----END CERTIFICATE-----\n",
  "-----BEGIN X-----\n",
  "-----BEGIN X-----\nAAAA\n-----END X-----\n",
  "-----END X-----\n",
  "A".repeat(253),
  "A".repeat(252) + "\n",
];

/** Changes of PEM: characters or snippets put in, taken out or replaced, mostly at the start of a line. */
export const textChange: fc.Arbitrary<(text: string) => string> = fc
  .tuple(fc.nat(), fc.boolean(), fc.nat({ max: 3 }), fc.constantFrom(...snippets))
  .map(([n, atLine, removed, snippet]) => (text: string) => {
    const starts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)];
    const at = atLine ? pick(starts, n) : n % text.length;
    return text.slice(0, at) + snippet + text.slice(at + removed);
  });
