import { backoffDelay } from "@istiod/runtime";

const firstMs = 1000;
const maxMs = 300_000;

/**
 * Returns the delay after which a rejected resource is sent again, in milliseconds: a listener whose port was in use
 * may be accepted a moment later. It doubles with each attempt up to five minutes; up to half of it is random.
 *
 * @param attempts rejections in a row, at least 1
 * @param random a number from 0 to less than 1
 */
export function retryDelay(attempts: number, random: number): number {
  return backoffDelay(attempts, { initialMs: firstMs, maxMs, random: () => random });
}
