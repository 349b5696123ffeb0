import type { Connection, Rejection, XdsEvent } from "@istiod/xds-server";

interface TypeDelivery {
  /** Revisions of responses that are not answered, by nonce. */
  readonly sent: Map<string, number>;
  /** Everything up to this revision was acknowledged; -1: nothing. */
  acknowledged: number;
  /** Resources that were refused, with the version that was. */
  readonly refused: Map<string, { readonly version: string | undefined; readonly error: Rejection }>;
  /** A response was refused without saying for which resource. */
  refusedWhole: Rejection | undefined;
}

const unansweredKept = 16;

/** What clients have said to what they were sent, beyond the last response: for each stream and type. */
export class Deliveries {
  readonly #streams = new Map<string, Map<string, TypeDelivery>>();
  readonly #connection: (id: string) => Connection | undefined;

  /** @param connection the state of a stream now; asked when one refuses something */
  constructor(connection: (id: string) => Connection | undefined) {
    this.#connection = connection;
  }

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
      case "ack": {
        const type = this.#type(event.connection, event.typeUrl);
        type.acknowledged = Math.max(type.acknowledged, type.sent.get(event.nonce) ?? -1);
        forgetUntil(type.sent, event.nonce);
        type.refusedWhole = undefined;
        if (type.refused.size > 0) this.#forgetReplaced(event.connection, event.typeUrl, type);
        break;
      }
      case "nack": {
        const type = this.#type(event.connection, event.typeUrl);
        forgetUntil(type.sent, event.error.nonce);
        if (event.error.resources.length === 0) type.refusedWhole = event.error;
        for (const name of event.error.resources) type.refused.set(name, { version: event.error.versions[name], error: event.error });
        break;
      }
      case "disconnect":
        this.#streams.delete(event.connection);
        break;
    }
  }

  /** Whether everything that a revision means for a stream and type was acknowledged, as far as acknowledgements tell; 0: what it was sent first. */
  acknowledged(connection: string, typeUrl: string, revision: number): boolean {
    return (this.#streams.get(connection)?.get(typeUrl)?.acknowledged ?? -1) >= revision;
  }

  /** Why a client does not use a resource as it was last sent; undefined if it does, or has not answered. */
  refusal(connection: string, typeUrl: string, name: string, version: string | undefined): Rejection | undefined {
    const type = this.#streams.get(connection)?.get(typeUrl);
    const refused = type?.refused.get(name);
    return refused !== undefined && refused.version === version ? refused.error : type?.refusedWhole;
  }

  #type(connection: string, typeUrl: string): TypeDelivery {
    let types = this.#streams.get(connection);
    if (types === undefined) this.#streams.set(connection, (types = new Map()));
    let type = types.get(typeUrl);
    if (type === undefined) types.set(typeUrl, (type = { sent: new Map(), acknowledged: -1, refused: new Map(), refusedWhole: undefined }));
    return type;
  }

  #versions(connection: string, typeUrl: string): (name: string) => string | undefined {
    const subscription = this.#connection(connection)?.subscriptions.find((s) => s.typeUrl === typeUrl);
    return (name) => subscription?.sentOf(name)?.version;
  }

  #forgetReplaced(connection: string, typeUrl: string, { refused }: TypeDelivery): void {
    const versions = this.#versions(connection, typeUrl);
    for (const [name, { version }] of refused) if (versions(name) !== version) refused.delete(name);
  }
}

/** Clients answer in order: what was sent before is answered, too. */
function forgetUntil(sent: Map<string, number>, nonce: string): void {
  if (!sent.has(nonce)) return;
  for (const earlier of sent.keys()) {
    sent.delete(earlier);
    if (earlier === nonce) break;
  }
}
