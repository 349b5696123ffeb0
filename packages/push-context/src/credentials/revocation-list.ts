import { contextField, type Element, elementsOf, sequence } from "./der.js";

const integer = 0x02;
const bitString = 0x03;
const objectIdentifier = 0x06;
const setOf = 0x31;
/** UTCTime and GeneralizedTime. */
const timeTags: readonly number[] = [0x17, 0x18];

/** Reports whether bytes have the outline of a revocation list: a list with signature algorithm and signature. */
export function isRevocationList(der: Buffer): boolean {
  const [outer, ...after] = elementsOf(der) ?? [];
  if (outer?.tag !== sequence || after.length > 0) return false;
  const [list, algorithm, signature, ...more] = elementsOf(outer.content) ?? [];
  return (
    list?.tag === sequence &&
    isListContent(list.content) &&
    algorithm !== undefined &&
    isAlgorithm(algorithm) &&
    signature?.tag === bitString &&
    signature.content[0] === 0 &&
    more.length === 0
  );
}

/**
 * Returns the time from which verifiers reject a revocation list, `nextUpdate`, in milliseconds since the Unix epoch;
 * undefined if it has none.
 */
export function revocationListExpiry(der: Buffer): number | undefined {
  const [outer] = elementsOf(der) ?? [];
  const [list] = elementsOf(outer?.content ?? Buffer.of()) ?? [];
  const times = (elementsOf(list?.content ?? Buffer.of()) ?? []).filter(({ tag }) => timeTags.includes(tag));
  return times[1] && timeOf(times[1]);
}

function timeOf({ content }: Element): number {
  const text = content.toString("latin1");
  // The years of UTCTime are 1950 to 2049 (RFC 5280, 4.1.2.5.1).
  const digits = text.length === 13 ? `${text < "5" ? "20" : "19"}${text}` : text;
  const [, year, month, day, hour, minute, second] = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(digits) ?? [];
  return Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second));
}

/** Reports whether bytes are the fields of a `TBSCertList` (RFC 5280, 5.1). */
function isListContent(bytes: Buffer): boolean {
  const fields = [...(elementsOf(bytes) ?? [])];
  if (fields[0]?.tag === integer && !isVersion2(fields.shift())) return false;
  const [algorithm, issuer, thisUpdate, ...optional] = fields;
  if (algorithm === undefined || !isAlgorithm(algorithm) || issuer === undefined || !isName(issuer)) return false;
  if (!isTime(thisUpdate)) return false;
  if (timeTags.includes(optional[0]?.tag ?? 0) && !isTime(optional.shift())) return false;
  if (optional[0]?.tag === sequence && !isRevokedList(optional.shift())) return false;
  if (optional[0]?.tag === contextField) optional.shift();
  return optional.length === 0;
}

const isVersion2 = (version: Element | undefined): boolean => version?.content.length === 1 && version.content[0] === 1;

function isAlgorithm({ tag, content }: Element): boolean {
  const [identifier, , ...more] = elementsOf(content) ?? [];
  return tag === sequence && identifier?.tag === objectIdentifier && more.length === 0;
}

function isName({ tag, content }: Element): boolean {
  const isPart = (part: Element): boolean => {
    const [type, value, ...more] = elementsOf(part.content) ?? [];
    return part.tag === sequence && type?.tag === objectIdentifier && value !== undefined && more.length === 0;
  };
  return (
    tag === sequence &&
    elementsOf(content)?.every((set) => set.tag === setOf && elementsOf(set.content)?.every(isPart) === true) === true
  );
}

function isTime(time: Element | undefined): boolean {
  return time !== undefined && timeTags.includes(time.tag) && /^\d{12}(\d\d)?Z$/.test(time.content.toString("latin1"));
}

function isRevokedList(list: Element | undefined): boolean {
  return (
    elementsOf(list?.content ?? Buffer.of(0))?.every(({ tag, content }) => {
      const [serial, date, extensions, ...more] = elementsOf(content) ?? [];
      const isEnd = extensions === undefined || (extensions.tag === sequence && more.length === 0);
      return tag === sequence && serial?.tag === integer && isTime(date) && isEnd;
    }) === true
  );
}
