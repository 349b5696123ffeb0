import { chmod, mkdir, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { type Clock, reasonOf, systemClock } from "@istiod/runtime";
import { AgentError } from "../errors.js";
import { type Log, silentLog } from "../log.js";
import { fetchInstanceToken } from "./metadata-server.js";
import type { TokenSource } from "./token-source.js";

export interface InstanceTokenOptions {
  /** `host` or `host:port` of the metadata server. */
  readonly host: string;
  /** Audience of the token: the trust domain. */
  readonly audience: string;
  /** File to which tokens are written, for other programs of the workload. */
  readonly file: string;
  readonly clock?: Clock;
  readonly log?: Log;
}

/** Milliseconds between checks of the token's age, and before its expiry when it is renewed. As in Istio. */
const REFRESH_INTERVAL = 5 * 60_000;
const GRACE_PERIOD = 25 * 60_000;

/**
 * The identity token of a Google Compute Engine instance. It is fetched on first use, and renewed in the background
 * 25 minutes before it expires. While the metadata server fails, a token that is still valid stays in use.
 */
export class InstanceToken implements TokenSource {
  readonly name: string;
  readonly #options: InstanceTokenOptions;
  readonly #clock: Clock;
  readonly #log: Log;
  #current: { readonly token: string; readonly expiry: number | undefined } | undefined;
  #fetching: Promise<string> | undefined;
  #cancel: (() => void) | undefined;

  constructor(options: InstanceTokenOptions) {
    this.name = `metadata server ${options.host}`;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#log = options.log ?? silentLog;
  }

  /** Starts renewing the token in the background. */
  start(): void {
    this.#cancel = this.#clock.after(REFRESH_INTERVAL, () => {
      this.read().catch((error: unknown) => this.#log.error(`credential refresh failed: ${reasonOf(error)}`));
      this.start();
    });
  }

  stop(): void {
    this.#cancel?.();
  }

  async read(): Promise<string> {
    const current = this.#current;
    if (current && this.#remaining(current.expiry) > GRACE_PERIOD) return current.token;
    try {
      return await (this.#fetching ??= this.#fetch());
    } catch (error) {
      if (!current || this.#remaining(current.expiry) <= 0) throw error;
      this.#log.warn(`${reasonOf(error)}, keeping the token of the instance until it expires`);
      return current.token;
    } finally {
      this.#fetching = undefined;
    }
  }

  /** Returns the milliseconds until a time; 0 for one that is not known, so that the token is fetched for each use. */
  #remaining(expiry: number | undefined): number {
    return expiry === undefined ? 0 : expiry - this.#clock.now();
  }

  async #fetch(): Promise<string> {
    const { host, audience, file } = this.#options;
    const token = await fetchInstanceToken({ host, audience, clock: this.#clock });
    this.#current = { token, expiry: expiryOf(token) };
    await writeToken(file, token);
    return token;
  }
}

/** Returns the expiry in a JSON Web Token in milliseconds since the epoch; `undefined` if it cannot be read. */
function expiryOf(token: string): number | undefined {
  try {
    const { exp } = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as { exp?: unknown };
    return typeof exp === "number" && exp > 0 ? exp * 1000 : undefined;
  } catch {
    return undefined;
  }
}

async function writeToken(file: string, token: string): Promise<void> {
  const temporary = `${file}.new`;
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(temporary, token, { mode: 0o640 });
    await chmod(temporary, 0o640);
    await rename(temporary, file);
  } catch (error) {
    throw AgentError.from(error, "file", `token of the instance cannot be written to ${file}`);
  }
}
