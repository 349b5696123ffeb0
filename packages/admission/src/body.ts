import type { IncomingMessage } from "node:http";
import { AdmissionError } from "./errors.js";

export interface BodyLimits {
  /** Maximum size of a body in bytes. Default 6 MiB. */
  readonly maxBodyBytes?: number;
  /** Maximum size in bytes of all bodies that are held at the same time. Default 32 MiB. */
  readonly maxHeldBytes?: number;
  /** Returns the group of a caller's address, such as its network. Default: the address. */
  readonly groupOf?: (address: string) => string;
}

/** A body that holds bytes. */
interface Reading {
  readonly group: string;
  bytes: number;
  /** Rejects the body and releases its bytes; undefined once it is complete. */
  overloaded: (() => void) | undefined;
}

/** A body that is being read. */
export interface HeldBody {
  /** Rejects with AdmissionError `too-large`, `overloaded`, `empty`, or with the error of the connection. */
  readonly body: Promise<Uint8Array>;
  /** Ends the accounting of the body's bytes. */
  release(): void;
}

const defaultMaxBodyBytes = 6 * 1024 * 1024;
const defaultMaxHeldBytes = 32 * 1024 * 1024;

/**
 * Reads the bodies of requests. The limit of all bodies protects the memory from many callers, since the API server
 * does not authenticate itself to webhooks. At the limit, the address that holds the most bytes loses its largest
 * unfinished body, so that no address can keep the reviews of others out.
 */
export class BodyReader {
  readonly #maxBodyBytes: number;
  readonly #maxHeldBytes: number;
  readonly #groupOf: (address: string) => string;
  readonly #readings = new Set<Reading>();
  #held = 0;

  constructor({
    maxBodyBytes = defaultMaxBodyBytes,
    maxHeldBytes = defaultMaxHeldBytes,
    groupOf = (address) => address,
  }: BodyLimits) {
    this.#maxBodyBytes = maxBodyBytes;
    this.#maxHeldBytes = maxHeldBytes;
    this.#groupOf = groupOf;
  }

  read(http: IncomingMessage): HeldBody {
    const chunks: Buffer[] = [];
    const reading: Reading = { group: this.#groupOf(http.socket.remoteAddress ?? ""), bytes: 0, overloaded: undefined };
    const release = (): void => {
      this.#readings.delete(reading);
      this.#held -= reading.bytes;
      reading.bytes = 0;
    };
    const body = new Promise<Uint8Array>((resolve, reject) => {
      const fail = (error: Error): void => {
        http.off("data", onData);
        http.resume();
        chunks.length = 0;
        reading.overloaded = undefined;
        reject(error);
      };
      const onData = (chunk: Buffer): void => {
        chunks.push(chunk);
        reading.bytes += chunk.length;
        this.#held += chunk.length;
        if (reading.bytes > this.#maxBodyBytes) return fail(this.#tooLarge());
        this.#makeRoom(reading);
      };
      if (Number(http.headers["content-length"] ?? 0) > this.#maxBodyBytes) return fail(this.#tooLarge());
      reading.overloaded = () => {
        release();
        fail(new AdmissionError("overloaded", "too many requests at the same time, try again"));
      };
      this.#readings.add(reading);
      http.on("data", onData);
      http.once("end", () => {
        reading.overloaded = undefined;
        if (reading.bytes === 0) fail(new AdmissionError("empty", "no body found, expected an AdmissionReview"));
        else {
          resolve(Buffer.concat(chunks));
          chunks.length = 0;
        }
      });
      http.once("error", fail);
      http.once("close", () => fail(new Error("the connection was closed before the body was received")));
    });
    return { body, release };
  }

  /** Rejects unfinished bodies of the addresses that hold the most bytes, until all others are within the limit. */
  #makeRoom(newest: Reading): void {
    while (this.#held > this.#maxHeldBytes) {
      const largest = this.#largestUnfinished() ?? newest;
      if (largest.overloaded === undefined) return;
      largest.overloaded();
    }
  }

  /** Returns the largest unfinished body, of the address that holds the most bytes of those that have one. */
  #largestUnfinished(): Reading | undefined {
    const bytesOf = new Map<string, number>();
    for (const { group, bytes } of this.#readings) bytesOf.set(group, (bytesOf.get(group) ?? 0) + bytes);
    const weight = ({ group }: Reading): number => bytesOf.get(group) ?? 0;
    let found: Reading | undefined;
    for (const reading of this.#readings) {
      if (reading.overloaded === undefined || reading.bytes === 0) continue;
      const difference = found === undefined ? 1 : weight(reading) - weight(found) || reading.bytes - found.bytes;
      if (difference > 0) found = reading;
    }
    return found;
  }

  #tooLarge(): AdmissionError {
    return new AdmissionError("too-large", `the body is larger than ${this.#maxBodyBytes} bytes`);
  }
}
