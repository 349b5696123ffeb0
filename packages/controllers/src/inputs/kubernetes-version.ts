import { type ApiClient, readServerVersion, withRetries } from "@istiod/kubernetes";
import type { Source } from "./source.js";

/** A version of Kubernetes: the major version times 100, and the minor version, such as 128 for 1.28. */
export interface KubernetesVersion {
  readonly number: number;
}

/**
 * Reads the version of an API server, as a source of controllers. Attempts that fail for a while are repeated.
 *
 * @param onError called if the server does not tell its version
 */
export function kubernetesVersion(
  client: ApiClient,
  onError: (error: unknown) => void,
): Source<KubernetesVersion> & { stop(): void } {
  const stopping = new AbortController();
  const listeners = new Set<() => void>();
  let version: KubernetesVersion | undefined;
  const { signal } = stopping;
  const forever = { attempts: Infinity, deadlineMs: Infinity, maxBackoffMs: 60_000, signal };
  void withRetries(() => readServerVersion(client, signal), forever).then(
    ({ major, minor }) => {
      version = { number: major * 100 + minor };
      for (const listener of listeners) listener();
    },
    (error: unknown) => {
      if (!signal.aborted) onError(error);
    },
  );
  return {
    current: () => version,
    onChange: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    stop: () => stopping.abort(),
  };
}
