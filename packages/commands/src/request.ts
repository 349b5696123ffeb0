import { SettingsCommand } from "@istiod/settings/command";
import type { Command } from "commander";
import { defaultIstiod } from "./proxy-dump.js";

/** Milliseconds until the answer. */
const timeoutMs = 30_000;

/** `istiod request`: an HTTP request to a running istiod on this machine. */
export function requestCommand({ print }: { readonly print: (text: string) => void }): Command {
  return new SettingsCommand("request")
    .description("Send a request to the HTTP server of a running istiod, such as GET /debug/syncz.")
    .argument("<method>", "GET or POST")
    .argument("<path>", "path with query, such as /debug/syncz")
    .argument("[body]", "body of a POST")
    .option("--istiod <url>", "HTTP URL of istiod", defaultIstiod)
    .action(async (given: string, path: string, body: string | undefined, { istiod }: { readonly istiod: string }) => {
      const method = given.toUpperCase();
      if (method !== "GET" && method !== "POST") throw new Error(`method ${given}: expected GET or POST`);
      if (body !== undefined && method === "GET") throw new Error("body: a GET has none");
      const url = urlOf(istiod, path);
      const response = await fetch(url, {
        method,
        signal: AbortSignal.timeout(timeoutMs),
        ...(body !== undefined && { body }),
      }).catch((cause: unknown) => {
        throw new Error(`--istiod ${istiod}: no response`, { cause });
      });
      const answer = await response.text();
      if (!response.ok) throw new Error(`${method} ${url.pathname}: ${response.status}: ${answer.trim()}`);
      print(answer.endsWith("\n") ? answer : `${answer}\n`);
    });
}

/** @throws Error if the URL is none, or if the path would lead to another server, as `//other/x` does */
function urlOf(istiod: string, path: string): URL {
  if (!URL.canParse(istiod)) throw new Error(`--istiod ${istiod}: expected a URL such as ${defaultIstiod}`);
  const reference = path.startsWith("/") ? path : `/${path}`;
  const url = URL.canParse(reference, istiod) ? new URL(reference, istiod) : undefined;
  if (url?.origin !== new URL(istiod).origin)
    throw new Error(`path ${path}: expected a path of istiod, such as /debug/syncz`);
  return url;
}
