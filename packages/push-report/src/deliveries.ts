import type { AckEvent, NackEvent, Rejection, XdsEvent } from "@istiod/xds-server";

interface TypeDelivery {
  /** Revisions of unanswered responses, by nonce. */
  readonly sent: Map<string, number>;
  /** Everything up to this revision is acknowledged; -1 if nothing is. */
  acknowledged: number;
  /** Resources that were rejected and not accepted since, with the rejected version. */
  readonly rejected: Map<string, { readonly version: string | undefined; readonly error: Rejection }>;
  /** The last answer, if it was a NACK. */
  lastRejection: Rejection | undefined;
}

const maxUnanswered = 16;

/** The acknowledged revision and the rejected resources of each stream and type. */
export class Deliveries {
  readonly #streams = new Map<string, Map<string, TypeDelivery>>();

  /** Must be called with each event of the server. */
  observe(event: XdsEvent): void {
    switch (event.kind) {
      case "push": {
        const { sent } = this.#type(event.connection, event.typeUrl);
        sent.set(event.nonce, event.revision ?? 0);
        for (const oldest of sent.keys()) {
          if (sent.size <= maxUnanswered) break;
          sent.delete(oldest);
        }
        break;
      }
      case "ack":
        accept(this.#type(event.connection, event.typeUrl), event);
        break;
      case "nack":
        reject(this.#type(event.connection, event.typeUrl), event);
        break;
      case "disconnect":
        this.#streams.delete(event.connection);
        break;
    }
  }

  /**
   * Reports whether a stream is known to have acknowledged a type's state at a revision. Revision 0 stands for the
   * first response.
   */
  acknowledged(connection: string, typeUrl: string, revision: number): boolean {
    return (this.#streams.get(connection)?.get(typeUrl)?.acknowledged ?? -1) >= revision;
  }

  /** Returns the error with which a client rejected a version of a resource; undefined if it has not rejected it. */
  rejectionOf(connection: string, typeUrl: string, name: string, version: string | undefined): Rejection | undefined {
    const rejected = this.#streams.get(connection)?.get(typeUrl)?.rejected.get(name);
    return rejected !== undefined && rejected.version === version ? rejected.error : undefined;
  }

  /**
   * Returns the error of the last answer for a type if it was a NACK. The other resources of that response may not be
   * in use either.
   */
  lastRejection(connection: string, typeUrl: string): Rejection | undefined {
    return this.#streams.get(connection)?.get(typeUrl)?.lastRejection;
  }

  #type(connection: string, typeUrl: string): TypeDelivery {
    let types = this.#streams.get(connection);
    if (types === undefined) this.#streams.set(connection, (types = new Map()));
    let type = types.get(typeUrl);
    if (type === undefined)
      types.set(typeUrl, (type = { sent: new Map(), acknowledged: -1, rejected: new Map(), lastRejection: undefined }));
    return type;
  }
}

function accept(type: TypeDelivery, { nonce, carried }: AckEvent): void {
  type.acknowledged = Math.max(type.acknowledged, type.sent.get(nonce) ?? -1);
  removeThrough(type.sent, nonce);
  type.lastRejection = undefined;
  if (type.rejected.size === 0) return;
  for (const { name } of carried.resources) type.rejected.delete(name);
  for (const name of carried.removed) type.rejected.delete(name);
}

/** Records the rejected resources: all resources of the response if the client does not name the invalid ones. */
function reject(type: TypeDelivery, { error, carried }: NackEvent): void {
  removeThrough(type.sent, error.nonce);
  type.lastRejection = error;
  for (const name of error.resources) type.rejected.set(name, { version: error.versions[name], error });
  if (error.resources.length === 0)
    for (const { name, version } of carried?.resources ?? []) type.rejected.set(name, { version, error });
}

/** Removes a nonce and the earlier ones. Clients answer in order, so the earlier responses are answered, too. */
function removeThrough(sent: Map<string, number>, nonce: string): void {
  if (!sent.has(nonce)) return;
  for (const earlier of sent.keys()) {
    sent.delete(earlier);
    if (earlier === nonce) break;
  }
}
