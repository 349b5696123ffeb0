import { type Clock, systemClock } from "@istiod/runtime";
import { CaError } from "../errors.js";
import { followFiles } from "../files/follow-files.js";
import { type TrustBundle, trustBundleOf } from "../identity/trust-bundle.js";
import { parseCertificates } from "../pem.js";
import {
  type AnyServingAuthority,
  keepServingCertificate,
  type RenewedCertificate,
  type ServingCertificate,
} from "./serving-certificate.js";
import { readRootsFile, readServingFiles, type ServingFiles } from "./serving-files.js";
import type { TrustSource } from "./signing-bundle.js";

/** The certificate of a TLS server, and the roots that verify its clients. */
export interface ServingTls {
  /** PEM. */
  readonly cert: string;
  /** PEM. */
  readonly key: string;
  /** A second certificate with an RSA key, for clients that do not accept ECDSA. Absent if read from files. */
  readonly fallback?: { readonly cert: string; readonly key: string };
  /** PEM of the root certificates of clients, those of all trust bundles. */
  readonly clientCa: string;
  /** The root certificates of clients by trust domain. */
  readonly trustBundles: readonly TrustBundle[];
  /** Time of the next renewal, in milliseconds since the epoch; absent for a certificate from files. */
  readonly renewalDue?: number;
}

/** A file of root certificates and the trust domain that they belong to. */
export interface RootsFile {
  readonly file: string;
  /** Trust domain whose identities the roots prove, and no other's. */
  readonly trustDomain: string;
}

export interface KeepServingTlsOptions {
  /** Issues the certificate unless there are files, and its roots verify clients. Default: none, files are required. */
  readonly authority?: AnyServingAuthority;
  /** Trust domain whose identities the authority's roots prove. */
  readonly trustDomain: string;
  /** Names in a certificate that the authority issues. */
  readonly names: readonly string[];
  /** Files of the server certificate. Default: the authority issues one. */
  readonly files?: ServingFiles;
  /** Root certificates of clients in addition to the authority's. */
  readonly roots?: RootsFile;
  /** An authority that signs certificates of clients of the same trust domain, in addition. */
  readonly clientAuthority?: TrustSource;
  /** Milliseconds without further changes after which files are read. Default: 100. */
  readonly debounce?: number;
  readonly clock?: Clock;
  /** Called with the names of files after they were reloaded. */
  readonly onReload?: (files: readonly string[]) => void;
  /** Called if a certificate or file is invalid; the last good one stays active. */
  readonly onError?: (error: CaError) => void;
}

/** The current TLS settings of a server. */
export interface KeptServingTls {
  current(): ServingTls;
  /**
   * Calls the listener after each change of the certificate or the roots, which apply to new connections. Returns a
   * function that removes the listener.
   */
  onChange(listener: (tls: ServingTls) => void): () => void;
  stop(): void;
}

/**
 * Keeps a server certificate and the roots of its clients up to date: reloads files after changes, and renews
 * certificates of the authority.
 *
 * @throws CaError if the first certificate or roots cannot be loaded or issued
 */
export async function keepServingTls(options: KeepServingTlsOptions): Promise<KeptServingTls> {
  const { authority, trustDomain, clientAuthority } = options;
  const listeners = new Set<(tls: ServingTls) => void>();
  const stops: (() => void)[] = [];
  const stop = (): void => {
    for (const each of stops.splice(0)) each();
  };
  try {
    const changed = (): void => {
      for (const listener of [...listeners]) listener(current());
    };
    const roots = options.roots && (await followedRoots(options, options.roots, changed, stops));
    const certificate = await (options.files === undefined
      ? issuedCertificate(options, changed, stops)
      : followedCertificate(options, options.files, changed, stops));
    const current = (): ServingTls => {
      const { cert, key, fallback, renewalDue } = certificate();
      return {
        cert,
        key,
        clientCa: (authority?.bundle.rootsPem ?? "") + (clientAuthority?.bundle.rootsPem ?? "") + (roots?.().pem ?? ""),
        trustBundles: [
          ...(authority === undefined ? [] : [trustBundleOf(trustDomain, authority.bundle)]),
          ...(clientAuthority === undefined ? [] : [trustBundleOf(trustDomain, clientAuthority.bundle)]),
          ...(roots === undefined ? [] : [roots().bundle]),
        ],
        ...(fallback !== undefined && { fallback }),
        ...(renewalDue !== undefined && { renewalDue }),
      };
    };
    const onChange = (listener: (tls: ServingTls) => void): (() => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    };
    if (authority !== undefined) stops.push(authority.onChange(changed));
    if (clientAuthority !== undefined) stops.push(clientAuthority.onChange(changed));
    return { current, onChange, stop };
  } catch (error) {
    stop();
    throw error;
  }
}

type CurrentCertificate = () => ServingCertificate & Partial<RenewedCertificate>;

async function followedRoots(
  options: KeepServingTlsOptions,
  { file, trustDomain }: RootsFile,
  changed: () => void,
  stops: (() => void)[],
): Promise<() => { readonly pem: string; readonly bundle: TrustBundle }> {
  const read = async () => {
    const pem = await readRootsFile(file);
    return { pem, bundle: { trustDomain, roots: parseCertificates(pem, file) } };
  };
  const followed = await followFiles({ ...reporting(options, [file], changed), read });
  stops.push(() => followed.stop());
  return () => followed.current();
}

async function followedCertificate(
  options: KeepServingTlsOptions,
  files: ServingFiles,
  changed: () => void,
  stops: (() => void)[],
): Promise<CurrentCertificate> {
  const { clock = systemClock } = options;
  const followed = await followFiles({
    ...reporting(options, [files.certFile, files.keyFile], changed),
    read: () => readServingFiles(files, clock.now()),
  });
  stops.push(() => followed.stop());
  return () => followed.current();
}

async function issuedCertificate(
  { authority, names, clock, onError }: KeepServingTlsOptions,
  changed: () => void,
  stops: (() => void)[],
): Promise<CurrentCertificate> {
  if (authority === undefined)
    throw new CaError("not-ready", "the server's certificate is in no file, and has no issuer");
  const issued: { certificate?: RenewedCertificate } = {};
  const onCertificate = (certificate: RenewedCertificate): void => {
    issued.certificate = certificate;
    changed();
  };
  stops.push(
    await keepServingCertificate({
      authority,
      names,
      onCertificate,
      ...(clock !== undefined && { clock }),
      ...(onError !== undefined && { onError }),
    }),
  );
  return () => {
    if (issued.certificate === undefined) throw new CaError("signing", "the server's certificate was not issued");
    return issued.certificate;
  };
}

function reporting(
  { debounce, clock, onReload, onError }: KeepServingTlsOptions,
  paths: readonly string[],
  changed: () => void,
) {
  return {
    paths,
    ...(debounce !== undefined && { debounce }),
    ...(clock !== undefined && { clock }),
    ...(onError !== undefined && { onError }),
    onChange: () => {
      changed();
      onReload?.(paths);
    },
  };
}
