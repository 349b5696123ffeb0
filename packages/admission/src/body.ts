import type { IncomingMessage } from "node:http";
import { AdmissionError } from "./errors.js";

export interface BodyLimits {
  /** Maximum size of a body in bytes. Default 6 MiB. */
  readonly maxBodyBytes?: number;
  /** Maximum size in bytes of all bodies that are held at the same time. Default 64 MiB. */
  readonly maxHeldBytes?: number;
}

/** A body that is being read. */
export interface HeldBody {
  /** Rejects with AdmissionError `too-large`, `overloaded`, `empty`, or with the error of the connection. */
  readonly body: Promise<Uint8Array>;
  /** Ends the accounting of the body's bytes. */
  release(): void;
}

const defaultMaxBodyBytes = 6 * 1024 * 1024;
const defaultMaxHeldBytes = 64 * 1024 * 1024;

/**
 * Reads the bodies of requests. The limit of all bodies protects the memory from many callers, since the API server
 * does not authenticate itself to webhooks.
 */
export class BodyReader {
  readonly #maxBodyBytes: number;
  readonly #maxHeldBytes: number;
  #held = 0;

  constructor({ maxBodyBytes = defaultMaxBodyBytes, maxHeldBytes = defaultMaxHeldBytes }: BodyLimits) {
    this.#maxBodyBytes = maxBodyBytes;
    this.#maxHeldBytes = maxHeldBytes;
  }

  read(http: IncomingMessage): HeldBody {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const release = (): void => {
      this.#held -= bytes;
      bytes = 0;
    };
    const body = new Promise<Uint8Array>((resolve, reject) => {
      const fail = (error: Error): void => {
        http.off("data", onData);
        http.resume();
        chunks.length = 0;
        reject(error);
      };
      const onData = (chunk: Buffer): void => {
        bytes += chunk.length;
        this.#held += chunk.length;
        if (bytes > this.#maxBodyBytes) return fail(this.#tooLarge());
        if (this.#held > this.#maxHeldBytes)
          return fail(new AdmissionError("overloaded", "too many requests at the same time, try again"));
        chunks.push(chunk);
      };
      if (Number(http.headers["content-length"] ?? 0) > this.#maxBodyBytes) return fail(this.#tooLarge());
      http.on("data", onData);
      http.once("end", () => {
        if (bytes === 0) fail(new AdmissionError("empty", "no body found, expected an AdmissionReview"));
        else resolve(Buffer.concat(chunks));
      });
      http.once("error", fail);
      http.once("close", () => fail(new Error("the connection was closed before the body was received")));
    });
    return { body, release };
  }

  #tooLarge(): AdmissionError {
    return new AdmissionError("too-large", `the body is larger than ${this.#maxBodyBytes} bytes`);
  }
}
