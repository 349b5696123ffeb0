import type { XdsEvent } from "@istiod/xds-server";

interface TypeDelivery {
  /** Revisions of unanswered responses, by nonce. */
  readonly sent: Map<string, number>;
  /** Everything up to this revision is acknowledged; -1 if nothing is. */
  acknowledged: number;
}

const maxUnanswered = 16;

/** The acknowledged revision of each stream and type. */
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
        accept(this.#type(event.connection, event.typeUrl), event.nonce);
        break;
      case "nack":
        removeThrough(this.#type(event.connection, event.typeUrl).sent, event.error.nonce);
        break;
      case "disconnect":
        this.#streams.delete(event.connection);
        break;
    }
  }

  /**
   * Reports whether a stream has acknowledged a response with a type's state at a revision or later. The resources in
   * `Subscription.unaccepted` are not acknowledged all the same. Revision 0 stands for the first response.
   */
  acknowledged(connection: string, typeUrl: string, revision: number): boolean {
    return (this.#streams.get(connection)?.get(typeUrl)?.acknowledged ?? -1) >= revision;
  }

  #type(connection: string, typeUrl: string): TypeDelivery {
    let types = this.#streams.get(connection);
    if (types === undefined) this.#streams.set(connection, (types = new Map()));
    let type = types.get(typeUrl);
    if (type === undefined) types.set(typeUrl, (type = { sent: new Map(), acknowledged: -1 }));
    return type;
  }
}

function accept(type: TypeDelivery, nonce: string): void {
  type.acknowledged = Math.max(type.acknowledged, type.sent.get(nonce) ?? -1);
  removeThrough(type.sent, nonce);
}

/** Removes a nonce and the earlier ones. Clients answer in order, so the earlier responses are answered, too. */
function removeThrough(sent: Map<string, number>, nonce: string): void {
  if (!sent.has(nonce)) return;
  for (const earlier of sent.keys()) {
    sent.delete(earlier);
    if (earlier === nonce) break;
  }
}
