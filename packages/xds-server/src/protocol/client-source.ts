import type { Resource, ResourceSet } from "@istiod/resources";

/** A resource source bound to one client. */
export interface ClientSource {
  resources(typeUrl: string, wildcard: boolean): ResourceSet | undefined;
  /** Undefined if the source has no resources outside its sets. */
  readonly lookup: ((typeUrl: string, name: string) => Resource | undefined) | undefined;
  /** Reports whether a resource exists and cannot be generated now. */
  isFailing(typeUrl: string, name: string): boolean;
  /** Reports whether a client may subscribe to a type. */
  serves(typeUrl: string): boolean;
  /** Reports that the client is no longer subscribed to a name that was looked up. */
  unsubscribed(typeUrl: string, name: string): void;
  /** Reports that the source threw. The last response of the type stays active. */
  failed(typeUrl: string, error: unknown): void;
}

/**
 * Returns the current set of a type without a wildcard subscription; undefined if the source does not serve the type or
 * threw.
 */
export function currentSet(source: ClientSource, typeUrl: string): ResourceSet | undefined {
  try {
    return source.resources(typeUrl, false);
  } catch (error) {
    source.failed(typeUrl, error);
    return undefined;
  }
}
