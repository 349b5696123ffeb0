import type { X509Certificate } from "node:crypto";
import { type Clock, reasonOf, systemClock } from "@istiod/runtime";
import type { IssuedCertificate, LeafIssuer, LeafRequest } from "../authority/leaf-issuer.js";
import { pemOf } from "../authority/signing-bundle.js";
import { readSigningRequest, type SigningRequest } from "../authority/signing-request.js";
import { CaError } from "../errors.js";
import { parseSpiffeUri } from "../identity/spiffe-identity.js";
import { encodePem, parseCertificates } from "../pem.js";
import {
  checkIssued,
  checkPath,
  intermediatesOf,
  type IssuedChain,
  readIssuedChain,
  rootAtEnd,
} from "./issued-chain.js";
import type { KubernetesSigners } from "./kubernetes-signers.js";
import { checkRequestIdentity } from "./request-identity.js";

/** Root certificates of signers. */
export interface SignerRoots {
  /** Returns the PEM of the root of all signers, a file; undefined if there is none. */
  file(): string | undefined;
  /** Returns the PEM of the roots that the mesh configuration has for a signer; undefined if it has none. */
  configured(signer: string): string | undefined;
}

export interface RegistrationAuthorityOptions {
  readonly signers: Pick<KubernetesSigners, "sign">;
  readonly roots: SignerRoots;
  /** Name of the signer of requests that name none (Istio's K8S_SIGNER). Empty: there is none. */
  readonly defaultSigner: string;
  /** Domain of the signers that requests name (Istio's CERT_SIGNER_DOMAIN). Empty: requests must not name one. */
  readonly signerDomain: string;
  /** Lifetime of a leaf if the request names none, in milliseconds. Default: 24 hours. */
  readonly defaultLifetime?: number;
  /** Maximum lifetime that may be requested, and that is accepted from a signer, in milliseconds. Default: 90 days. */
  readonly maxLifetime?: number;
  readonly clock?: Clock;
}

/** Usages of workload certificates, as Istio requests them. */
const usages = ["digital signature", "key encipherment", "server auth", "client auth"] as const;

const hourMs = 3600 * 1000;

/**
 * Has the certificates of authenticated workloads signed by Kubernetes signers, as Istio's registration authority does.
 * There is no other authority that issues if a signer does not.
 */
export class RegistrationAuthority implements LeafIssuer {
  readonly #options: RegistrationAuthorityOptions;
  readonly #clock: Clock;

  constructor(options: RegistrationAuthorityOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /**
   * Has the request signed. Its names must be exactly the given one, the authenticated identity.
   *
   * @throws CaError `csr`, `ttl`, `signing` or `signer-root`
   */
  async sign({
    request,
    names,
    lifetime = 0,
    signer: requested = "",
    signal,
  }: LeafRequest): Promise<IssuedCertificate> {
    const { signers, defaultLifetime = 24 * hourMs, maxLifetime = 90 * 24 * hourMs } = this.#options;
    const [identity] = names;
    if (identity === undefined || names.length !== 1)
      throw new CaError("csr", `${names.length} names are requested, a signer is asked for exactly one`);
    const signingRequest = await readSigningRequest(request);
    checkRequestIdentity(signingRequest, identity);
    if (lifetime > maxLifetime)
      throw new CaError(
        "ttl",
        `requested lifetime of ${lifetime / 1000} s is longer than the ${maxLifetime / 1000} s allowed`,
      );
    const signer = this.#signerOf(requested);
    return signers.sign(
      {
        signer,
        request: encodePem("CERTIFICATE REQUEST", signingRequest.der),
        usages,
        lifetime: lifetime > 0 ? lifetime : defaultLifetime,
        names,
        signal,
      },
      (pem) => this.#checked(pem, signer, identity, signingRequest),
    );
  }

  #signerOf(requested: string): string {
    const { defaultSigner, signerDomain } = this.#options;
    if (requested !== "") {
      if (signerDomain === "")
        throw new CaError("signing", `CERT_SIGNER_DOMAIN is required for the signer ${JSON.stringify(requested)}`);
      return `${signerDomain}/${requested}`;
    }
    if (defaultSigner === "")
      throw new CaError("signing", "K8S_SIGNER is not set, and the request names no signer (ISTIO_META_CERT_SIGNER)");
    return defaultSigner;
  }

  #checked(pem: string, signer: string, identity: string, request: SigningRequest): IssuedCertificate {
    const { maxLifetime = 90 * 24 * hourMs } = this.#options;
    const now = this.#clock.now();
    const name = `signer ${signer}`;
    const chain = readIssuedChain(pem, name);
    const { publicKeyDer, key } = request;
    checkIssued(chain, { publicKeyDer, names: [identity], forClients: true, maxLifetime, now }, name);
    const { roots, rootsPem, code } = this.#rootsOf(chain, signer);
    checkPath(chain, roots, { uriHost: parseSpiffeUri(identity).trustDomain, now }, { code, signer: name });
    return {
      certificate: pemOf(chain.leaf),
      chain: intermediatesOf(chain, roots),
      roots: rootsPem,
      notAfter: Date.parse(chain.leaf.validTo),
      serialNumber: chain.leaf.serialNumber.toLowerCase(),
      key: key.description,
    };
  }

  /** Returns the roots of a signer in Istio's order: the file, the mesh configuration, the end of the chain. */
  #rootsOf(chain: IssuedChain, signer: string): FoundRoots {
    const { roots } = this.#options;
    const file = roots.file();
    if (file !== undefined) return rootsIn(file, "root certificate of the external authority", "signing");
    const configured = roots.configured(signer);
    if (configured !== undefined)
      return rootsIn(configured, `mesh configuration: root of signer ${signer} in caCertificates`, "signer-root");
    const last = rootAtEnd(chain);
    if (last !== undefined) return { roots: [last], rootsPem: pemOf(last), code: "signer-root" };
    throw new CaError(
      "signer-root",
      `signer ${signer}: its root is neither in root-cert.pem of ./etc/external-ca-cert, nor in caCertificates of the mesh configuration (with the signer in certSigners), nor at the end of the chain that it returned`,
    );
  }
}

interface FoundRoots {
  readonly roots: readonly X509Certificate[];
  readonly rootsPem: string;
  /** Code of the error if a chain does not lead to the roots, which gives Istio's status. */
  readonly code: "signing" | "signer-root";
}

function rootsIn(pem: string, where: string, code: FoundRoots["code"]): FoundRoots {
  try {
    const roots = parseCertificates(pem, where);
    return { roots, rootsPem: roots.map(pemOf).join(""), code };
  } catch (error) {
    throw new CaError(code, reasonOf(error), { cause: error });
  }
}
