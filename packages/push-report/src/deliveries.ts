import type { AckEvent, NackEvent, Rejection, XdsEvent } from "@istiod/xds-server";

interface TypeDelivery {
  /** Revisions of responses that are not answered, by nonce. */
  readonly sent: Map<string, number>;
  /** Everything up to this revision was acknowledged; -1: nothing. */
  acknowledged: number;
  /** Resources that were refused and not accepted since, with the version that was. */
  readonly refused: Map<string, { readonly version: string | undefined; readonly error: Rejection }>;
  /** The last answer, if it was a refusal. */
  lastRefusal: Rejection | undefined;
}

const unansweredKept = 16;

/** What clients have said to what they were sent, beyond the last response: for each stream and type. */
export class Deliveries {
  readonly #streams = new Map<string, Map<string, TypeDelivery>>();

  /** To be called with each event of the server. */
  observe(event: XdsEvent): void {
    switch (event.kind) {
      case "push": {
        const { sent } = this.#type(event.connection, event.typeUrl);
        sent.set(event.nonce, event.revision ?? 0);
        for (const oldest of sent.keys()) {
          if (sent.size <= unansweredKept) break;
          sent.delete(oldest);
        }
        break;
      }
      case "ack":
        accept(this.#type(event.connection, event.typeUrl), event);
        break;
      case "nack":
        refuse(this.#type(event.connection, event.typeUrl), event);
        break;
      case "disconnect":
        this.#streams.delete(event.connection);
        break;
    }
  }

  /**
   * Whether everything that a revision means for a stream and type was acknowledged, as far as acknowledgements tell;
   * 0: what it was sent first.
   */
  acknowledged(connection: string, typeUrl: string, revision: number): boolean {
    return (this.#streams.get(connection)?.get(typeUrl)?.acknowledged ?? -1) >= revision;
  }

  /** Why a client does not use a resource as it was last sent; undefined if it does, or has not answered. */
  refusal(connection: string, typeUrl: string, name: string, version: string | undefined): Rejection | undefined {
    const refused = this.#streams.get(connection)?.get(typeUrl)?.refused.get(name);
    return refused !== undefined && refused.version === version ? refused.error : undefined;
  }

  /**
   * The last answer of a client about a type, if it was a refusal: what else was in that response is not known to be in
   * use.
   */
  lastRefusal(connection: string, typeUrl: string): Rejection | undefined {
    return this.#streams.get(connection)?.get(typeUrl)?.lastRefusal;
  }

  #type(connection: string, typeUrl: string): TypeDelivery {
    let types = this.#streams.get(connection);
    if (types === undefined) this.#streams.set(connection, (types = new Map()));
    let type = types.get(typeUrl);
    if (type === undefined)
      types.set(typeUrl, (type = { sent: new Map(), acknowledged: -1, refused: new Map(), lastRefusal: undefined }));
    return type;
  }
}

function accept(type: TypeDelivery, { nonce, carried }: AckEvent): void {
  type.acknowledged = Math.max(type.acknowledged, type.sent.get(nonce) ?? -1);
  forgetUntil(type.sent, nonce);
  type.lastRefusal = undefined;
  if (type.refused.size === 0) return;
  for (const { name } of carried.resources) type.refused.delete(name);
  for (const name of carried.removed) type.refused.delete(name);
}

/**
 * Where the client does not say which resources are at fault, all that the response carried count: none of them is
 * known to be in use.
 */
function refuse(type: TypeDelivery, { error, carried }: NackEvent): void {
  forgetUntil(type.sent, error.nonce);
  type.lastRefusal = error;
  for (const name of error.resources) type.refused.set(name, { version: error.versions[name], error });
  if (error.resources.length === 0)
    for (const { name, version } of carried?.resources ?? []) type.refused.set(name, { version, error });
}

/** Clients answer in order: what was sent before is answered, too. */
function forgetUntil(sent: Map<string, number>, nonce: string): void {
  if (!sent.has(nonce)) return;
  for (const earlier of sent.keys()) {
    sent.delete(earlier);
    if (earlier === nonce) break;
  }
}
