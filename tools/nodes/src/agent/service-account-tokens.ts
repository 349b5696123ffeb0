import { type ApiClient, requestToken } from "@istiod/kubernetes";
import type { Pod } from "../kube/objects.js";

interface CachedToken {
  readonly token: string;
  readonly renewAt: number;
}

const DAY = 24 * 3600 * 1000;

/** Tokens of a pod's service account, bound to the pod. Each is renewed after 80 % of its lifetime, or a day. */
export class ServiceAccountTokens {
  readonly #tokens = new Map<string, CachedToken>();

  constructor(
    readonly client: ApiClient,
    readonly pod: Pod,
    readonly now: () => number = Date.now,
  ) {}

  /** Returns a token for an audience; an empty one is the API server. */
  async get(audience: string, expirationSeconds: number): Promise<string> {
    const key = `${expirationSeconds} ${audience}`;
    const cached = this.#tokens.get(key);
    if (cached && this.now() < cached.renewAt) return cached.token;
    const { name, namespace, uid } = this.pod.metadata;
    const requested = this.now();
    const { token, expires } = await requestToken(
      this.client,
      { namespace, name: this.pod.spec.serviceAccountName ?? "default" },
      {
        ...(audience !== "" && { audiences: [audience] }),
        expirationSeconds,
        boundTo: { apiVersion: "v1", kind: "Pod", name, uid },
      },
    );
    const renewAt = requested + Math.min((expires - requested) * 0.8, DAY);
    this.#tokens.set(key, { token, renewAt });
    return token;
  }

  /** Milliseconds since the epoch at which the first token must be renewed; undefined without tokens. */
  get renewAt(): number | undefined {
    const times = [...this.#tokens.values()].map(({ renewAt }) => renewAt);
    return times.length === 0 ? undefined : Math.min(...times);
  }
}
