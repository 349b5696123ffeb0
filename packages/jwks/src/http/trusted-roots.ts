import { existsSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { createSecureContext, rootCertificates, type SecureContext } from "node:tls";
import { reasonOf } from "@istiod/runtime";

/** Files of the system's roots, as in Go (crypto/x509/root_linux.go), so that a mounted bundle has the same effect. */
const systemBundles = [
  "/etc/ssl/certs/ca-certificates.crt",
  "/etc/pki/tls/certs/ca-bundle.crt",
  "/etc/ssl/ca-bundle.pem",
  "/etc/pki/tls/cacert.pem",
  "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
  "/etc/ssl/cert.pem",
];

export interface TrustedRootsOptions {
  /** File of the system's roots. Default: the first one that exists of the usual places. */
  readonly systemFile?: string;
  /** Files of additional roots. One that does not exist is skipped. */
  readonly extraFiles?: readonly string[];
  /** Reports a file that cannot be used. */
  readonly warn?: (message: string) => void;
}

/**
 * Returns a function that gives the TLS context with the system's roots, or Node's if there are none, and the
 * additional ones. Files are read again when they change.
 */
export function trustedRoots({ systemFile, extraFiles = [], warn }: TrustedRootsOptions) {
  const system = systemFile ?? systemBundles.find((file) => existsSync(file));
  const files = [...(system === undefined ? [] : [system]), ...extraFiles];
  let known: { readonly version: string; readonly context: SecureContext } | undefined;
  return async (): Promise<SecureContext> => {
    const version = (await Promise.all(files.map(fileVersion))).join(" ");
    if (known?.version === version) return known.context;
    const texts = await Promise.all(files.map((file) => readFile(file, "utf8").catch(() => "")));
    const ofSystem = system === undefined ? "" : (texts.shift() ?? "");
    const extra = texts.flatMap((text, i) => usable(text, extraFiles[i] ?? "", warn));
    const roots = ofSystem.includes("-----BEGIN CERTIFICATE-----") ? [ofSystem] : rootCertificates;
    const context = createSecureContext({ ca: [...roots, ...extra], minVersion: "TLSv1.2" });
    known = { version, context };
    return context;
  };
}

/** Returns what changes with a file's content, without reading it. */
async function fileVersion(file: string): Promise<string> {
  return stat(file).then(
    ({ mtimeMs, size, ino }) => `${mtimeMs}/${size}/${ino}`,
    () => "absent",
  );
}

function usable(text: string, file: string, warn: TrustedRootsOptions["warn"]): readonly string[] {
  if (text === "") return [];
  try {
    createSecureContext({ ca: text });
    if (text.includes("-----BEGIN CERTIFICATE-----")) return [text];
    warn?.(`${file}: contains no certificates in PEM, so no root is added`);
  } catch (error) {
    warn?.(`${file}: ${reasonOf(error)}, so no root is added`);
  }
  return [];
}
