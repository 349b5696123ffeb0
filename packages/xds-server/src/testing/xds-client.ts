import { create, toBinary } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { NodeSchema, type Node } from "@istiod/envoy-api/envoy/config/core/v3/base";
import type { Variant } from "../events.js";
import type { Channel } from "./channel.js";
import { openChannel, type Target } from "./open-channel.js";
import { encodeRequest } from "./request.js";
import { decodeResponse, type ReceivedResponse } from "./response.js";

/** The fields of a request, without defaults. */
export interface RawRequest {
  readonly node?: Node | undefined;
  readonly typeUrl?: string;
  /** State-of-the-world: all names; delta: names to subscribe to. */
  readonly names?: readonly string[];
  /** Delta. */
  readonly unsubscribe?: readonly string[];
  /** Delta. */
  readonly initialVersions?: Readonly<Record<string, string>>;
  /** State-of-the-world. */
  readonly version?: string;
  readonly nonce?: string;
  readonly error?: string;
}

export interface XdsClientOptions {
  readonly variant: Variant;
  /** The node, or its id. Default "test". */
  readonly node?: Node | string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: the aggregated service. */
  readonly path?: string;
  /** Number of responses to keep. Default: all. */
  readonly history?: number;
  /** Called for each response before `next` returns it. */
  readonly onResponse?: (response: ReceivedResponse) => void;
}

interface Waiting {
  matches(response: ReceivedResponse): boolean;
  resolve(response: ReceivedResponse): void;
  reject(error: Error): void;
}

interface TypeState {
  names: Set<string>;
  nonce: string;
  /** State-of-the-world: the last accepted version. */
  version: string;
}

/** A type that no source has resources of. */
const fenceType = "fence/type";

/**
 * A scripted client for both variants: it sends only the requests that the test calls for. It tracks nonces, versions
 * and lists of names as the protocol requires.
 */
export class XdsClient {
  readonly variant: Variant;
  readonly node: Node;
  /** Received responses in order, limited by the option `history`. */
  readonly responses: ReceivedResponse[] = [];
  /** Resolves when the stream ends; undefined means status OK. */
  readonly ended: Promise<ConnectError | undefined>;

  readonly #channel: Channel;
  readonly #types = new Map<string, TypeState>();
  readonly #unread: ReceivedResponse[] = [];
  readonly #waiting: Waiting[] = [];
  #first = true;
  #over: Error | undefined;
  #fences = 0;

  constructor(target: Target, options: XdsClientOptions) {
    this.variant = options.variant;
    const node = options.node ?? "test";
    this.node = typeof node === "string" ? create(NodeSchema, { id: node }) : node;
    let settle: (error: ConnectError | undefined) => void;
    this.ended = new Promise((resolve) => (settle = resolve));
    this.#channel = openChannel(
      target,
      options.variant,
      {
        message: (message) => {
          const response = decodeResponse(this.variant, message);
          this.#type(response.typeUrl).nonce = response.nonce;
          this.responses.push(response);
          options.onResponse?.(response);
          const index = this.#waiting.findIndex(({ matches }) => matches(response));
          if (index === -1) this.#unread.push(response);
          else this.#waiting.splice(index, 1)[0]?.resolve(response);
          for (const kept of [this.responses, this.#unread])
            kept.splice(0, kept.length - (options.history ?? kept.length));
        },
        ended: (error) => {
          this.#over = error ?? new Error("the stream ended with status OK");
          for (const { reject } of this.#waiting.splice(0)) reject(this.#over);
          settle(error);
        },
      },
      {
        ...(options.headers && { headers: options.headers }),
        ...(options.path !== undefined && { path: options.path }),
      },
    );
  }

  /**
   * Subscribes to names of a type; without names, to the legacy wildcard.
   *
   * @param version state-of-the-world: version that was accepted last, on an earlier stream. Default: none
   */
  subscribe(
    typeUrl: string,
    names: readonly string[] = [],
    initialVersions: Readonly<Record<string, string>> = {},
    version?: string,
  ): void {
    const type = this.#type(typeUrl);
    if (version !== undefined) type.version = version;
    for (const name of names) type.names.add(name);
    if (this.variant === "delta") this.send({ typeUrl, names, initialVersions });
    else this.#list(typeUrl, type);
  }

  unsubscribe(typeUrl: string, names: readonly string[]): void {
    const type = this.#type(typeUrl);
    for (const name of names) type.names.delete(name);
    if (this.variant === "delta") this.send({ typeUrl, unsubscribe: names });
    else this.#list(typeUrl, type);
  }

  ack({ typeUrl, nonce, version }: ReceivedResponse): void {
    const type = this.#type(typeUrl);
    type.version = version;
    this.send({ typeUrl, nonce, ...(this.variant === "sotw" && { version, names: [...type.names] }) });
  }

  nack({ typeUrl, nonce }: ReceivedResponse, error: string): void {
    const type = this.#type(typeUrl);
    this.send({
      typeUrl,
      nonce,
      error,
      ...(this.variant === "sotw" && { version: type.version, names: [...type.names] }),
    });
  }

  /** Sends a request verbatim. By default only the first request carries the node. */
  send(request: RawRequest): void {
    const { typeUrl = "", initialVersions = {}, node: own, ...rest } = request;
    const node = "node" in request ? own : this.#first ? this.node : undefined;
    this.#first = false;
    this.#channel.send(
      encodeRequest(this.variant, {
        ...rest,
        typeUrl,
        node: node && toBinary(NodeSchema, node),
        initialVersions: Object.entries(initialVersions),
      }),
    );
  }

  /**
   * Resolves with the next response, optionally of a type, that was not returned before. Rejects if the stream ends.
   */
  next(typeUrl?: string): Promise<ReceivedResponse> {
    const matches = (response: ReceivedResponse): boolean => typeUrl === undefined || response.typeUrl === typeUrl;
    const index = this.#unread.findIndex(matches);
    const found = index === -1 ? undefined : this.#unread.splice(index, 1)[0];
    if (found !== undefined) return Promise.resolve(found);
    if (this.#over !== undefined) return Promise.reject(this.#over);
    return new Promise((resolve, reject) => this.#waiting.push({ matches, resolve, reject }));
  }

  /** Awaits the next response of a type and ACKs it. */
  async accept(typeUrl: string): Promise<ReceivedResponse> {
    const response = await this.next(typeUrl);
    this.ack(response);
    return response;
  }

  /**
   * Returns the responses that were not returned before, once all pending responses were received. As a fence it
   * requests a type that the source does not serve, which is answered last.
   */
  async settled(): Promise<ReceivedResponse[]> {
    this.send({ typeUrl: fenceType, names: [`${this.#fences++}`] });
    await this.next(fenceType);
    return this.#unread.splice(0);
  }

  pause(paused: boolean): void {
    this.#channel.pause(paused);
  }

  halfClose(): void {
    this.#channel.halfClose();
  }

  close(): void {
    this.#channel.cancel();
  }

  #list(typeUrl: string, type: TypeState): void {
    this.send({ typeUrl, names: [...type.names], nonce: type.nonce, version: type.version });
  }

  #type(typeUrl: string): TypeState {
    let type = this.#types.get(typeUrl);
    if (type === undefined) this.#types.set(typeUrl, (type = { names: new Set(), nonce: "", version: "" }));
    return type;
  }
}
