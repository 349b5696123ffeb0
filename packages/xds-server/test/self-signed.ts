import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;
export const NO_OPENSSL = "there is no openssl to make certificates with";

const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
const p256 = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"];

/** Returns a self-signed certificate of localhost. @param newKey openssl's arguments for the key. Default: P-256 */
export function selfSigned(newKey: readonly string[] = p256): { cert: string; key: string } {
  const directory = mkdtempSync(join(tmpdir(), "self-signed-"));
  try {
    const files = ["-keyout", "key.pem", "-out", "cert.pem"];
    const args = ["req", "-x509", "-nodes", "-days", "2", ...newKey, ...files, ...subject];
    const { status, stderr } = spawnSync("openssl", args, { cwd: directory });
    if (status !== 0) throw new Error(stderr.toString());
    const read = (name: string): string => readFileSync(join(directory, name), "utf8");
    return { cert: read("cert.pem"), key: read("key.pem") };
  } finally {
    rmSync(directory, { recursive: true });
  }
}
