import { createHash } from "node:crypto";
import { assess } from "./assessment.js";
import type { Html } from "./html.js";
import type { StatusModel } from "./model.js";
import { renderPage } from "./page.js";
import { refreshScript } from "./refresh-script.js";
import { style } from "./style.js";

/** The relevant parts of an HTTP request. */
export interface StatusRequest {
  readonly method: string;
  readonly query: URLSearchParams;
  /** Returns a header by name. */
  readonly accept?: string;
}

export interface StatusResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Empty for `HEAD`. */
  readonly body: string;
}

const [shortestRefresh, longestRefresh] = [2, 3600];

/**
 * Responds to a request for the page with HTML or JSON (`?format=`, or the preference in `Accept`). The model is only
 * computed if the response contains it.
 */
export async function respond(
  { method, query, accept = "" }: StatusRequest,
  model: () => StatusModel | Promise<StatusModel>,
): Promise<StatusResponse> {
  if (method !== "GET" && method !== "HEAD")
    return answer(method, 405, "text/plain", "method not allowed, expected GET or HEAD\n", { allow: "GET, HEAD" });
  const format = query.get("format") ?? (prefersJson(accept) ? "json" : "html");
  if (format === "json")
    return answer(
      method,
      200,
      "application/json",
      `${JSON.stringify(toJson(await model()), undefined, query.has("pretty") ? 2 : undefined)}\n`,
    );
  if (format !== "html")
    return answer(method, 400, "text/plain", `format: ${JSON.stringify(format)} is unknown, expected html or json\n`);
  const refresh = query.get("refresh");
  if (refresh === null) return answer(method, 200, "text/html", renderPage(await model()));
  const seconds = /^\d{1,4}$/.test(refresh) ? Number(refresh) : 0;
  if (seconds < shortestRefresh || seconds > longestRefresh)
    return answer(
      method,
      400,
      "text/plain",
      `refresh: must be between ${shortestRefresh} and ${longestRefresh} seconds\n`,
    );
  return answer(method, 200, "text/html", renderPage(await model(), { refreshSeconds: seconds }));
}

/** Returns the model as JSON: the lists of the page, with the same order, complete. */
function toJson(model: StatusModel): object {
  const { state, attention, proxyCounts, ...assessed } = assess(model);
  return { state, attention, proxyCounts, ...model, ...assessed };
}

/** Reports whether JSON is accepted with a higher quality than HTML. */
function prefersJson(accept: string): boolean {
  const quality = (type: string): number => {
    const range = accept
      .toLowerCase()
      .split(",")
      .map((each) => each.split(";").map((part) => part.trim()))
      .find(([name]) => name === type);
    return range === undefined
      ? 0
      : Number(/^q=([\d.]+)$/.exec(range.find((part) => part.startsWith("q=")) ?? "q=1")?.[1] ?? 0);
  };
  return quality("application/json") > quality("text/html");
}

/**
 * The content security policy. Allows only the style and script of this package, and requests of that script to the
 * page itself.
 */
const contentSecurityPolicy = [
  "default-src 'none'",
  `style-src ${hashOf(style)}`,
  `script-src ${hashOf(refreshScript)}`,
  "connect-src 'self'",
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

function hashOf({ markup }: Html): string {
  return `'sha256-${createHash("sha256").update(markup).digest("base64")}'`;
}

const securityHeaders = {
  "cache-control": "no-store",
  "content-security-policy": contentSecurityPolicy,
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
} as const;

/** Headers of a page of this package that is served by itself. */
export const pageHeaders: Readonly<Record<string, string>> = {
  "content-type": "text/html; charset=utf-8",
  ...securityHeaders,
};

function answer(
  method: string,
  status: number,
  type: string,
  body: string,
  more: Readonly<Record<string, string>> = {},
): StatusResponse {
  const headers = {
    "content-type": type === "application/json" ? type : `${type}; charset=utf-8`,
    "content-length": String(Buffer.byteLength(body)),
    vary: "Accept",
    ...securityHeaders,
    ...more,
  };
  return { status, headers, body: method === "HEAD" ? "" : body };
}
