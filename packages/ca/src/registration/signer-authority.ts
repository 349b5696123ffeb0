import { createPublicKey, webcrypto } from "node:crypto";
import { isIP } from "node:net";
import { rootsBundle } from "../authority/roots-bundle.js";
import { type AuthorityBundle, pemOf } from "../authority/signing-bundle.js";
import type { ServingAuthority, ServingCertificate } from "../authority/serving-certificate.js";
import { CaError } from "../errors.js";
import { generateKey, privateKeyPem, signingKey } from "../keys.js";
import { type JsonGeneralName, Pkcs10CertificateRequestGenerator, SubjectAlternativeNameExtension } from "../x509.js";
import { checkIssued, checkPath, intermediatesOf, readIssuedChain } from "./issued-chain.js";
import type { KubernetesSigners } from "./kubernetes-signers.js";

export interface SignerAuthorityOptions {
  readonly signers: Pick<KubernetesSigners, "sign">;
  /** Name of the Kubernetes signer. */
  readonly signer: string;
  /** PEM of the signer's roots. */
  readonly roots: string;
}

/** Usages of istiod's certificate, as Istio requests them. */
const usages = ["digital signature", "key encipherment", "server auth"] as const;

/** A Kubernetes signer that issues istiod's serving certificate (Istio's PILOT_CERT_PROVIDER=k8s.io/…). */
export class SignerAuthority implements ServingAuthority {
  readonly #options: SignerAuthorityOptions;
  readonly #listeners = new Set<() => void>();
  #bundle: AuthorityBundle;

  /** @throws CaError `malformed` if the roots cannot be read */
  constructor(options: SignerAuthorityOptions) {
    this.#options = options;
    this.#bundle = bundleOf(options);
  }

  get bundle(): AuthorityBundle {
    return this.#bundle;
  }

  /** Replaces the roots, and calls the listeners if they have changed. @throws CaError `malformed` */
  useRoots(roots: string): void {
    const next = bundleOf({ ...this.#options, roots });
    if (next.rootsPem === this.#bundle.rootsPem) return;
    this.#bundle = next;
    for (const listener of [...this.#listeners]) listener();
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Expiry time of the first root, in milliseconds since the epoch. */
  expiry(): { readonly root: number | undefined } {
    const [root] = this.#bundle.roots;
    return { root: root && Date.parse(root.validTo) };
  }

  async issueServingCertificate(names: readonly string[], lifetime: number, now: number): Promise<ServingCertificate> {
    const { signers, signer } = this.#options;
    const key = await generateKey({ type: "rsa", bits: 2048 });
    const publicKeyDer = createPublicKey(key).export({ type: "spki", format: "der" });
    const request = await servingRequest(key, publicKeyDer, names);
    const { roots } = this.#bundle;
    const name = `signer ${signer}`;
    return signers.sign({ signer, request, usages, lifetime, names }, (pem) => {
      const chain = readIssuedChain(pem, name);
      checkIssued(chain, { publicKeyDer, names, forClients: false, maxLifetime: Infinity, now }, name);
      checkPath(chain, roots, { uriHost: undefined, now }, { code: "signing", signer: name });
      return {
        key: privateKeyPem(key),
        cert: [pemOf(chain.leaf), ...intermediatesOf(chain, roots)].join(""),
        notAfter: Date.parse(chain.leaf.validTo),
      };
    });
  }
}

function bundleOf({ signer, roots }: SignerAuthorityOptions): AuthorityBundle {
  return rootsBundle(roots, `mesh configuration: root of signer ${signer} in caCertificates`);
}

async function servingRequest(
  key: Awaited<ReturnType<typeof generateKey>>,
  publicKeyDer: Buffer,
  names: readonly string[],
): Promise<string> {
  const { key: privateKey, algorithm } = await signingKey(key);
  try {
    const publicKey = await webcrypto.subtle.importKey("spki", publicKeyDer, algorithm, true, ["verify"]);
    const request = await Pkcs10CertificateRequestGenerator.create({
      keys: { privateKey, publicKey },
      signingAlgorithm: algorithm,
      extensions: [new SubjectAlternativeNameExtension(names.map(generalName), true)],
    });
    return `${request.toString("pem")}\n`;
  } catch (error) {
    throw CaError.from(error, "signing", "the signing request of istiod's certificate could not be created");
  }
}

function generalName(value: string): JsonGeneralName {
  return { type: isIP(value) ? "ip" : "dns", value };
}
