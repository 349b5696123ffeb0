import { Database } from "@istiod/incremental";
import { calls, type Client, define, hidden, items, type Model, type Program } from "./random-program.js";

/** The result of a query, or the message of the error that it threw. */
export interface Outcome {
  readonly value: unknown;
  readonly error: string | undefined;
}

export function outcomeOf(ask: () => unknown): Outcome {
  try {
    return { value: ask(), error: undefined };
  } catch (error) {
    return { value: undefined, error: (error as Error).message };
  }
}

/** Every query of a random program, with each of two arguments. */
export const roots = Array.from({ length: calls }, (_, query) => [0, 1].map((arg) => ({ query, arg }))).flat();

/** Computes a query in a new database that holds the model's inputs. */
export function outcomeFromScratch(
  program: Program,
  model: Model,
  client: Client,
  query: number,
  arg: number,
): Outcome {
  const ignore = (): void => undefined;
  const { queries } = define(program, ignore, ignore);
  const db = new Database<Client>();
  db.commit((tx) => {
    for (const [key, item] of model.items) tx.set(items, key, item);
    for (const key of model.hidden) tx.set(hidden, key, true);
  });
  return outcomeOf(() => db.view(client).call(queries[query]!, arg));
}
