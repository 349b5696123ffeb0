import type { Resource, ResourceSet } from "@istiod/resources";

/** A source as one client sees it. */
export interface ClientSource {
  resources(typeUrl: string): ResourceSet | undefined;
  /** Undefined if the source has no names outside its sets. */
  readonly lookup: ((typeUrl: string, name: string) => Resource | undefined) | undefined;
  /** The source's own number of its present state, if it has one. */
  revision(): number | undefined;
  /** A question to the source failed; the type keeps what it had. */
  failed(typeUrl: string, error: unknown): void;
}

/** The resources of a type now; undefined if there are none of it, or the question failed. */
export function currentOf(source: ClientSource, typeUrl: string): ResourceSet | undefined {
  try {
    return source.resources(typeUrl);
  } catch (error) {
    source.failed(typeUrl, error);
    return undefined;
  }
}
