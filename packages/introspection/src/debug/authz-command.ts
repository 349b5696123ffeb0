import { AuthorizationQuestionError, check, type Question } from "@istiod/authorization";
import type { Database } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";
import { type DebugAnswer, type DebugCommand, textAnswer } from "./command.js";

const single = ["from", "to", "method", "path", "host", "jwt", "sni", "sourceIp", "remoteIp"] as const;
const repeated = { headers: "header", filterMetadata: "filterMetadata" } as const;

/** Returns a question as the parameters of `/debug/authz`. */
export function questionParameters(question: Question): URLSearchParams {
  const parameters = new URLSearchParams();
  for (const name of single) {
    const value = question[name];
    if (value !== undefined) parameters.set(name, value);
  }
  for (const [field, name] of Object.entries(repeated) as [keyof typeof repeated, string][])
    for (const value of question[field] ?? []) parameters.append(name, value);
  return parameters;
}

/** Decides a request as the proxies of its destination would, at the current revision. */
export function authzCommand({ database }: { readonly database: Database<Proxy> }): DebugCommand {
  const answer: DebugCommand["answer"] = async ({ query, namespace }): Promise<DebugAnswer> => {
    const [from, to] = [query.get("from"), query.get("to")];
    if (!from || !to) return textAnswer(400, "You must provide from and to in the query string or form");
    const unknown = [...query.keys()].find(
      (name) => ![...single, ...Object.values(repeated)].some((each) => each === name),
    );
    if (unknown !== undefined) return textAnswer(400, `unknown parameter ${JSON.stringify(unknown)}`);
    const optional = Object.fromEntries(single.flatMap((name) => (query.has(name) ? [[name, query.get(name)]] : [])));
    const question: Question = {
      ...optional,
      from,
      to,
      headers: query.getAll(repeated.headers),
      filterMetadata: query.getAll(repeated.filterMetadata),
    };
    try {
      const checks = await check(database, question);
      const isForeign = checks.some(({ to: { workload } }) => !workload.endsWith(`.${namespace}`));
      if (namespace !== undefined && isForeign) return textAnswer(403, "This workload is not of your namespace.");
      return { json: checks };
    } catch (error) {
      if (error instanceof AuthorizationQuestionError) return textAnswer(400, error.message);
      throw error;
    }
  };
  return {
    name: "authz",
    about: "Whether a request would be allowed, and by which policy; ?from=, &to=, &method=, &path=, &header=, &jwt=",
    answer,
  };
}
