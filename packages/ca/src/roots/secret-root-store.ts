import { CaError } from "../errors.js";
import type { RootStore, StoredRoot } from "./root-store.js";

/** The contents of a Secret. */
export interface Secret {
  readonly name: string;
  readonly type: string;
  readonly data: Readonly<Record<string, string>>;
}

/** A Secret as it is stored. */
export interface StoredSecret extends Secret {
  /** Differs after every change. */
  readonly version: string;
}

/** Secrets of one namespace. Creation and replacement are atomic. */
export interface SecretStore {
  readonly namespace: string;
  /** Returns undefined if the Secret does not exist. */
  read(name: string): Promise<StoredSecret | undefined>;
  /** Returns `false` if a Secret of that name exists. */
  create(secret: Secret): Promise<boolean>;
  /** Replaces the given entries, and keeps others. Returns `false` if the Secret has changed since it was read. */
  replace(secret: StoredSecret, data: Readonly<Record<string, string>>): Promise<boolean>;
}

export interface SecretRootStoreOptions {
  /**
   * `true`: without `istio-ca-secret`, the root is stored in `cacerts`, as with `USE_CACERTS_FOR_SELF_SIGNED_CA`.
   * Default: false.
   */
  readonly useCacerts?: boolean;
}

/** Secret of a self-signed root. */
const selfSignedSecret = "istio-ca-secret";
/** Secret of a plugged-in CA, or of a self-signed root that is marked as generated. */
const pluggedInSecret = "cacerts";
const secretType = "istio.io/ca-root";
const certificateKey = "ca-cert.pem";
const privateKeyKey = "ca-key.pem";
const rootKey = "root-cert.pem";
/** Marks a Secret `cacerts` that istiod has created. */
const generatedKey = "istio-generated";

/**
 * Stores a self-signed root in a Secret, in Istio's format: `istio-ca-secret`, otherwise `cacerts` if that is enabled.
 * Replicas that start at the same time end up with the root of the first one.
 */
export class SecretRootStore implements RootStore {
  readonly description: string;
  readonly #secrets: SecretStore;
  readonly #useCacerts: boolean;

  constructor(secrets: SecretStore, { useCacerts = false }: SecretRootStoreOptions = {}) {
    this.#secrets = secrets;
    this.#useCacerts = useCacerts;
    this.description = `Secret ${secrets.namespace}/${this.#newName}`;
  }

  /** @throws CaError `store`, also for `cacerts` that an operator has provided; `incomplete` */
  async load(): Promise<StoredRoot | undefined> {
    const secret = await this.#read();
    return secret && this.#rootIn(secret);
  }

  async create({ certificate, privateKey }: StoredRoot): Promise<boolean> {
    const name = this.#newName;
    const data = {
      [certificateKey]: certificate,
      [privateKeyKey]: privateKey,
      [rootKey]: certificate,
      "cert-chain.pem": "",
      "key.pem": "",
      ...(name === pluggedInSecret && { [generatedKey]: "" }),
    };
    return this.#attempt(name, "created", () => this.#secrets.create({ name, type: secretType, data }));
  }

  async replace(current: StoredRoot, next: StoredRoot): Promise<boolean> {
    const secret = await this.#read();
    if (!secret) return false;
    const { certificate, privateKey } = this.#rootIn(secret);
    if (certificate !== current.certificate || privateKey !== current.privateKey) return false;
    const data = { [certificateKey]: next.certificate, [privateKeyKey]: next.privateKey, [rootKey]: next.certificate };
    return this.#attempt(secret.name, "updated", () => this.#secrets.replace(secret, data));
  }

  get #newName(): string {
    return this.#useCacerts ? pluggedInSecret : selfSignedSecret;
  }

  async #read(): Promise<StoredSecret | undefined> {
    const read = (name: string): Promise<StoredSecret | undefined> =>
      this.#attempt(name, "read", () => this.#secrets.read(name));
    return (await read(selfSignedSecret)) ?? (this.#useCacerts ? read(pluggedInSecret) : undefined);
  }

  #rootIn({ name, data }: StoredSecret): StoredRoot {
    const where = `Secret ${this.#secrets.namespace}/${name}`;
    if (name === pluggedInSecret && !Object.hasOwn(data, generatedKey))
      throw new CaError(
        "store",
        `${where}: data[${generatedKey}] is missing, so it is a plugged-in CA and not a self-signed root`,
      );
    const entry = (key: string): string => {
      const value = Object.hasOwn(data, key) ? data[key] : undefined;
      if (!value) throw new CaError("incomplete", `${where}: data[${key}] is missing`);
      return value;
    };
    return { certificate: entry(certificateKey), privateKey: entry(privateKeyKey) };
  }

  async #attempt<T>(name: string, action: string, operation: () => Promise<T>): Promise<T> {
    try {
      return await operation();
    } catch (error) {
      throw CaError.from(error, "store", `Secret ${this.#secrets.namespace}/${name} cannot be ${action}`);
    }
  }
}
