import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { type Log, silentLog } from "../log.js";
import type { Secret } from "./secret.js";
import { mergeRoots, type TrustAnchors } from "./trust-anchors.js";
import { watchFiles } from "./watch-files.js";

/** Sources of verification in addition to the roots of the workload's own certificate. */
export interface TrustedRootsOptions {
  /** Absent: istiod adds no roots. */
  readonly anchors?: TrustAnchors;
  /** File of the revocation lists. Absent: certificates are not checked for revocation. */
  readonly revocationLists?: string;
  /** Milliseconds without further changes before a file is read. */
  readonly quiet: number;
  readonly log?: Log;
}

/**
 * Calls `listener` with the roots of `watchRoots`, those that istiod adds, and the revocation lists, and again after
 * each change. The roots are not served before the lists are read: Envoy would accept revoked certificates meanwhile.
 *
 * @returns stops the watch
 */
export function watchTrustedRoots(
  watchRoots: (listener: (secret: Secret) => void) => () => void,
  options: TrustedRootsOptions,
  listener: (secret: Secret) => void,
): () => void {
  const { anchors } = options;
  let own: string | undefined;
  let lists: string | undefined;
  let isReady = false;
  let last = "";
  const emit = (): void => {
    if (own === undefined || !isReady) return;
    const roots = mergeRoots(own, anchors?.current ?? []);
    const secret: Secret = { kind: "roots", roots, ...(lists !== undefined && { revocationLists: lists }) };
    const content = JSON.stringify(secret);
    if (content === last) return;
    last = content;
    listener(secret);
  };
  const stops = [
    watchRevocationLists(options, (text) => {
      lists = text;
      isReady = true;
      emit();
    }),
    watchRoots((secret) => {
      if (secret.kind === "roots") own = secret.roots;
      emit();
    }),
    ...(anchors ? [anchors.watch(emit)] : []),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

/**
 * Calls `listener` with the file's content; undefined if it does not exist or is blank, which is how an operator clears
 * the lists. A file that becomes invalid does not change anything: revoked certificates would be accepted again. Its
 * directory, a volume, must exist from the start.
 */
function watchRevocationLists(
  { revocationLists: path, quiet, log = silentLog }: TrustedRootsOptions,
  listener: (text: string | undefined) => void,
): () => void {
  if (path === undefined || !existsSync(dirname(path))) {
    listener(undefined);
    return () => undefined;
  }
  let isStopped = false;
  let current: string | undefined;
  let lastFailure = "";
  const fail = (reason: string): void => {
    if (reason !== lastFailure) log.warn(`${path} ${reason}`);
    lastFailure = reason;
  };
  const update = async (): Promise<void> => {
    const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => error);
    if (isStopped) return;
    if (typeof text !== "string" && text.code !== "ENOENT")
      return fail(
        `${text.message}, ${current === undefined ? "so that roots cannot be served" : "keeping the last good revocation lists"}`,
      );
    if (typeof text !== "string" || text.trim() === "") {
      if (current !== undefined)
        log.info(`${path} has no revocation lists any more, peers are not checked against any`);
      lastFailure = "";
      current = undefined;
      return listener(undefined);
    }
    if (!/-----BEGIN X509 CRL-----[^-]+-----END X509 CRL-----/.test(text))
      return fail(
        current === undefined
          ? 'has no PEM block "X509 CRL", so that roots cannot be served'
          : 'has no PEM block "X509 CRL", keeping the last good revocation lists',
      );
    lastFailure = "";
    current = text;
    listener(text);
  };
  const stop = watchFiles([path], quiet, () => void update());
  void update();
  return () => {
    isStopped = true;
    stop();
  };
}
