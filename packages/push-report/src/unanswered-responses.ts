/** A response without an ACK or NACK, and the changes that it shows. */
interface UnansweredResponse {
  readonly nonce: string;
  readonly changes: readonly number[];
}

/** Maximum number of unanswered responses remembered per stream and type. */
const maxUnanswered = 16;

/** Responses that clients have not answered yet, by stream and type. */
export class UnansweredResponses {
  /** By connection ID and type URL, oldest first. */
  readonly #streams = new Map<string, Map<string, UnansweredResponse[]>>();

  /** Adds a response. Returns the oldest one if it is dropped because too many responses are unanswered. */
  add(connection: string, typeUrl: string, response: UnansweredResponse): UnansweredResponse | undefined {
    const types = this.#streams.get(connection) ?? new Map<string, UnansweredResponse[]>();
    this.#streams.set(connection, types);
    const responses = types.get(typeUrl) ?? [];
    types.set(typeUrl, responses);
    responses.push(response);
    return responses.length > maxUnanswered ? responses.shift() : undefined;
  }

  /**
   * Removes and returns the response with a nonce and those before it, oldest first. Clients answer in order, so an
   * answer to a response also answers the earlier ones.
   */
  answer(connection: string, typeUrl: string, nonce: string): readonly UnansweredResponse[] {
    const responses = this.#streams.get(connection)?.get(typeUrl) ?? [];
    return responses.splice(0, responses.findIndex((response) => response.nonce === nonce) + 1);
  }

  /** Removes and returns all responses of a stream. */
  close(connection: string): readonly UnansweredResponse[] {
    const responses = [...(this.#streams.get(connection)?.values() ?? [])].flat();
    this.#streams.delete(connection);
    return responses;
  }

  /** Yields the streams and types with an unanswered response that shows a change. */
  *showing(revision: number): Iterable<{ readonly connection: string; readonly typeUrl: string }> {
    for (const [connection, types] of this.#streams) {
      for (const [typeUrl, responses] of types)
        if (responses.some(({ changes }) => changes.includes(revision))) yield { connection, typeUrl };
    }
  }
}
