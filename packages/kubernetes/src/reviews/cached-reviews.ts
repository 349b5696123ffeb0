import { createHash } from "node:crypto";
import { type Clock, monotonicClock } from "@istiod/runtime";
import type { ApiClient } from "../client/api-client.js";
import { type Access, type AccessReviewResult, reviewSubjectAccess } from "./access-review.js";
import { reviewToken, type TokenReviewRequest, type TokenReviewResult, type UserInfo } from "./token-review.js";

export interface CachedReviewsOptions {
  /** Milliseconds for which an authenticated token or an allowed access is remembered. Default: 10,000. */
  readonly positiveTtlMs?: number;
  /** The same for other results, shorter so that new permissions work soon. Default: 2,000. */
  readonly negativeTtlMs?: number;
  /** Results that are remembered, and requests in flight, each at most. Default: 4,096. */
  readonly maxEntries?: number;
  readonly clock?: Clock;
}

/** A remembered result, or a request in flight. */
interface Entry {
  readonly result: Promise<unknown>;
  /** Absent while the request is in flight. */
  expires?: number;
}

/**
 * Reviews tokens and accesses, and remembers the results for seconds. Equal requests in flight are one request. A
 * revoked token or permission is accepted for the positive TTL at most. Errors are not remembered.
 */
export class CachedReviews {
  readonly #client: ApiClient;
  readonly #positiveTtlMs: number;
  readonly #negativeTtlMs: number;
  readonly #maxEntries: number;
  readonly #clock: Clock;
  /** By the digest of the request, so that no token is kept. The oldest entry is first. */
  readonly #entries = new Map<string, Entry>();

  constructor(client: ApiClient, options: CachedReviewsOptions = {}) {
    this.#client = client;
    this.#positiveTtlMs = options.positiveTtlMs ?? 10_000;
    this.#negativeTtlMs = options.negativeTtlMs ?? 2_000;
    this.#maxEntries = options.maxEntries ?? 4_096;
    this.#clock = options.clock ?? monotonicClock;
  }

  /** Number of results that are remembered or requested. */
  get size(): number {
    return this.#entries.size;
  }

  /** Reviews a token. @throws ApiError as `reviewToken` */
  async token(request: TokenReviewRequest): Promise<TokenReviewResult> {
    const key = ["token", request.token, request.audiences];
    return this.#remember(
      key,
      () => reviewToken(this.#client, request),
      ({ authenticated }) => authenticated,
    );
  }

  /** Reviews a user's access. @throws ApiError as `reviewSubjectAccess` */
  async subjectAccess(
    user: Pick<UserInfo, "username"> & Partial<UserInfo>,
    access: Access,
  ): Promise<AccessReviewResult> {
    return this.#remember(
      ["access", user, access],
      () => reviewSubjectAccess(this.#client, user, access),
      ({ allowed }) => allowed,
    );
  }

  async #remember<T>(key: unknown, ask: () => Promise<T>, isPositive: (result: T) => boolean): Promise<T> {
    const digest = createHash("sha256").update(JSON.stringify(key)).digest("base64");
    const known = this.#entries.get(digest);
    if (known && (known.expires === undefined || this.#clock.now() < known.expires)) return known.result as Promise<T>;
    const result = ask();
    const entry: Entry = { result };
    this.#entries.delete(digest);
    this.#entries.set(digest, entry);
    this.#evict();
    try {
      const answer = await result;
      entry.expires = this.#clock.now() + (isPositive(answer) ? this.#positiveTtlMs : this.#negativeTtlMs);
      return answer;
    } catch (error) {
      if (this.#entries.get(digest) === entry) this.#entries.delete(digest);
      throw error;
    }
  }

  #evict(): void {
    for (const key of this.#entries.keys()) {
      if (this.#entries.size <= this.#maxEntries) return;
      this.#entries.delete(key);
    }
  }
}
