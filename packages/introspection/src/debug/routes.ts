import { type AnswerQueue, mayChangeState, readBody, type Route, writeJson } from "@istiod/admin-server";
import { explainProxy } from "@istiod/explain";
import { type Proxy, proxyNamed } from "@istiod/push-context";
import type { IncomingMessage, ServerResponse } from "node:http";
import { authzCommand } from "./authz-command.js";
import { type ChangeCommandsOptions, changeCommands } from "./change-commands.js";
import { type DebugAnswer, type DebugCommand, type DebugRequest, textAnswer } from "./command.js";
import { type MeshCommandsOptions, meshCommands } from "./mesh-commands.js";
import { profileCommands } from "./profile.js";
import { connectionOf, type StreamCommandsOptions } from "./proxy-commands.js";
import { streamCommands } from "./stream-commands.js";

export interface DebugOptions extends StreamCommandsOptions, MeshCommandsOptions, ChangeCommandsOptions {
  /** Enables the profiles below `pprof/`. */
  readonly profile: boolean;
  /** Returns the texts of the injection templates by name; undefined if injection is not configured. */
  readonly injectionTemplates: () => Readonly<Record<string, string>> | undefined;
}

/** Returns the debug commands of one replica. */
export function debugCommands(options: DebugOptions): readonly DebugCommand[] {
  return [
    ...streamCommands(options),
    ...meshCommands(options),
    ...changeCommands(options),
    explainCommand(options),
    authzCommand(options),
    injectCommand(options),
    ...profileCommands(options.profile),
  ];
}

/** Returns the command that lists the names of commands. */
export function listCommand(commands: readonly DebugCommand[]): DebugCommand {
  return { name: "list", about: "Names of all commands", answer: () => ({ json: listed(commands) }) };
}

/**
 * Returns the commands as routes, with an index for people.
 *
 * @param queue of their answers, except profiles
 * @param namespaceOf returns the namespace to whose proxies a caller is confined, if any
 */
export function debugRoutes(
  commands: readonly DebugCommand[],
  queue: Pick<AnswerQueue, "run">,
  namespaceOf: (request: IncomingMessage) => string | undefined,
): Map<string, Route> {
  const routes = new Map<string, Route>();
  for (const { name, answer, changesState, asksReplicas } of commands) {
    routes.set(`/debug/${name}`, async ({ url, http }, response) => {
      if (changesState?.(url.searchParams) === true && !mayChangeState(http)) {
        response.writeHead(405, { "content-type": "text/plain", allow: "POST" }).end("method must be POST\n");
        return;
      }
      const query = await parametersOf(url, http);
      const request = { query, namespace: namespaceOf(http) };
      const respond = async (): Promise<void> => write(url, response, await answer(request));
      if (isProfile(name)) return respond();
      // The queue does not wait for other replicas, which may wait for this one.
      const gathered = asksReplicas && (await answer(request));
      await queue.run(response, gathered ? async () => write(url, response, gathered) : respond);
    });
  }
  routes.set("/debug", (_, response) => {
    const rows = commands
      .map(({ name, about }) => `<tr><td><a href="/debug/${name}">${name}</a></td><td>${about}</td></tr>`)
      .join("\n");
    response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
    response.end(`<!doctype html>\n<title>istiod debug</title>\n<table>\n${rows}\n</table>\n`);
  });
  return routes;
}

/** Profiles take as long as their callers want, one at a time. */
const isProfile = (name: string): boolean => name.startsWith("pprof");

const formLimit = 256 * 1024;

/** Returns the parameters of the URL, then those of a posted form, which keeps secrets out of URLs and their logs. */
async function parametersOf(url: URL, http: IncomingMessage): Promise<URLSearchParams> {
  const isForm = http.headers["content-type"]?.startsWith("application/x-www-form-urlencoded") === true;
  if (http.method !== "POST" || !isForm) return url.searchParams;
  const form = new URLSearchParams((await readBody(http, formLimit)).toString());
  return new URLSearchParams([...url.searchParams, ...form]);
}

/** Returns the sorted names of the commands, without profiles; commands with several forms have one name for each. */
function listed(commands: readonly DebugCommand[]): readonly string[] {
  const names = commands.map(({ name }) => name).filter((name) => !isProfile(name));
  return [...names, "adsz?push=true", "cachez?clear=true", "cachez?sizes=true"].sort();
}

function write(url: URL, response: ServerResponse, answer: DebugAnswer): void {
  if ("json" in answer) writeJson(url, response, answer.json);
  else if ("headers" in answer) response.writeHead(answer.status, { ...answer.headers }).end(answer.text);
  else
    response
      .writeHead(answer.status, { "content-type": answer.contentType ?? "text/plain; charset=utf-8" })
      .end(answer.text);
}

function injectCommand({ injectionTemplates }: DebugOptions): DebugCommand {
  const answer = (): DebugAnswer => {
    const templates = injectionTemplates();
    return templates === undefined ? textAnswer(404, "injection is not configured") : { json: templates };
  };
  return { name: "inject", about: "Active injection templates", answer };
}

/** Explains a connected proxy by its node and verified identity, any other proxy by its Pod. */
function explainCommand({ database, server, problems, proxyOf }: DebugOptions): DebugCommand {
  const answer = ({ query, namespace }: DebugRequest): DebugAnswer => {
    const id = query.get("proxyID");
    if (!id) return textAnswer(400, "You must provide a proxyID in the query string");
    const of = (name: string): string | undefined => query.get(name) ?? undefined;
    const connection = connectionOf(server, id);
    let proxy: Proxy;
    try {
      proxy = connection ? proxyOf(connection) : proxyNamed(database, id);
    } catch (error) {
      return textAnswer(
        404,
        `${id} is not connected to this istiod, and cannot be told from its objects: ${(error as Error).message}`,
      );
    }
    if (namespace !== undefined && proxy.namespace !== namespace)
      return textAnswer(403, "This proxy is not of your namespace.");
    try {
      return {
        json: explainProxy(
          database,
          proxy,
          problems(),
          { resource: of("resource"), type: of("type"), tries: of("tries") },
          connection,
        ),
      };
    } catch (error) {
      return textAnswer(400, (error as Error).message);
    }
  };
  return {
    name: "explain",
    about: "Objects that a proxy's resources are built from; ?proxyID=, &resource=, &type=, &tries=",
    answer,
  };
}
