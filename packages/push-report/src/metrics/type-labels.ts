import { xdsShortName, xdsType } from "@istiod/resources";

/** Labels of the types in events. */
export interface TypeLabels {
  /** Returns the type URL. */
  typeUrl(typeUrl: string): string;
  /** Returns the short name, such as `cds`; of other types the type URL. */
  shortName(typeUrl: string): string;
}

/** Clients may request any type URL. Types without a short name beyond this number are counted as `other`. */
const otherTypes = 32;

/** Returns labels whose number is bounded. */
export function boundedTypes(): TypeLabels {
  const others = new Set<string>();
  const label = (typeUrl: string): string => {
    if (xdsType(typeUrl)?.shortName !== undefined || others.has(typeUrl)) return typeUrl;
    if (others.size >= otherTypes) return "other";
    others.add(typeUrl);
    return typeUrl;
  };
  return { typeUrl: label, shortName: (typeUrl) => xdsShortName(label(typeUrl)) };
}
