import { X509Certificate } from "node:crypto";
import { fromBinary } from "@bufbuild/protobuf";
import type { Any } from "@bufbuild/protobuf/wkt";
import { ProxyConfigSchema } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { reasonOf } from "@istiod/runtime";
import { AgentError } from "../errors.js";

/** Root certificates that istiod sends in addition to those of the certificate authority. */
export class TrustAnchors {
  readonly #listeners = new Set<() => void>();
  #current: readonly string[] = [];

  /** PEM of each root. */
  get current(): readonly string[] {
    return this.#current;
  }

  /** Replaces the roots, and calls the listeners if they changed. */
  set(roots: readonly string[]): void {
    if (roots.join("") === this.#current.join("")) return;
    this.#current = roots;
    for (const listener of [...this.#listeners]) listener();
  }

  /** Calls `listener` after each change. @returns stops the watch */
  watch(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

const block = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** Returns root certificates in PEM with those of `anchors` that are not among them. */
export function mergeRoots(roots: string, anchors: readonly string[]): string {
  const known = new Set((roots.match(block) ?? []).map(bodyOf));
  const added = anchors.filter((anchor) => !known.has(bodyOf(anchor)));
  return added.length === 0 ? roots : `${[roots.trimEnd(), ...added.map((anchor) => anchor.trim())].join("\n")}\n`;
}

/**
 * Returns the root certificates in a proxy configuration, in PEM.
 *
 * @throws AgentError `discovery` if the message cannot be read, or one is not the certificate of a CA
 */
export function trustAnchorsIn({ value }: Any): readonly string[] {
  let anchors: readonly string[];
  try {
    anchors = fromBinary(ProxyConfigSchema, value).caCertificatesPem;
  } catch (error) {
    throw new AgentError("discovery", `malformed proxy configuration: ${reasonOf(error)}`, { cause: error });
  }
  return anchors.map((pem, index) => {
    const where = `proxy configuration: caCertificatesPem[${index}]`;
    let certificate: X509Certificate;
    try {
      certificate = new X509Certificate(pem);
    } catch (error) {
      throw new AgentError("discovery", `${where}: ${reasonOf(error)}`, { cause: error });
    }
    if (!certificate.ca) throw new AgentError("discovery", `${where}: is not a CA certificate`);
    return certificate.toString();
  });
}

function bodyOf(pem: string): string {
  return pem.replace(/-----[A-Z ]+-----|\s/g, "");
}
