import { createHash } from "node:crypto";
import { respond, type StatusResponse } from "@istiod/status-page";
import { describe, expect, it, test, vi } from "vitest";
import { troubledModel } from "./models.js";

const get = (query = "", accept?: string, method = "GET"): Promise<StatusResponse> =>
  respond({ method, query: new URLSearchParams(query), ...(accept !== undefined && { accept }) }, () => troubledModel);
const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

describe("the format", () => {
  it.each([
    ["", undefined, "text/html; charset=utf-8"],
    ["", browser, "text/html; charset=utf-8"],
    ["", "*/*", "text/html; charset=utf-8"],
    ["", "application/json", "application/json"],
    ["", "text/html;q=0.5, Application/JSON", "application/json"],
    ["", "application/json;q=0.5, text/html", "text/html; charset=utf-8"],
    ["", "application/json;q=0", "text/html; charset=utf-8"],
    ["format=json", browser, "application/json"],
    ["format=html", "application/json", "text/html; charset=utf-8"],
  ])("of ?%s with Accept: %s is %s", async (query, accept, type) => {
    expect(await get(query, accept)).toMatchObject({ status: 200, headers: { "content-type": type, vary: "Accept" } });
  });

  it("is rejected if it is unknown", async () => {
    expect(await get("format=xml")).toMatchObject({
      status: 400,
      body: 'format: "xml" is unknown, expected html or json\n',
    });
    for (const refresh of ["", "1", "3601", "-5", "1e3", "x"])
      expect(await get(`refresh=${refresh}`), refresh).toMatchObject({
        status: 400,
        body: "refresh: must be between 2 and 3600 seconds\n",
      });
    expect((await get("refresh=2")).status).toBe(200);
  });
});

test("respond returns the assessed model as JSON, in the page's order", async () => {
  const json = JSON.parse((await get("format=json")).body) as Record<string, unknown>;
  expect(json).toMatchObject({
    state: "error",
    attention: expect.arrayContaining([
      { level: "error", text: "2 proxies reject their configuration", section: "rejections" },
    ]) as unknown,
    instance: { name: "istiod-1", configRevision: 214 },
    proxyCounts: {
      total: 6,
      synced: 2,
      stale: 1,
      pending: 1,
      notSent: 0,
      rejected: 2,
      versions: { "1.27.0": 5, "1.26.2": 1 },
    },
    rejections: [{ type: "LDS", proxies: ["gateway-5c4b.edge", "gateway-9a1e.edge"] }],
    problems: [{ severity: "error", line: 17 }, { severity: "warning" }],
    findings: [{ code: "IST0101" }, { code: "IST0118" }],
    certificates: [
      { role: "Serving certificate", isLate: true },
      { role: "Root", isLate: false },
    ],
  });
  expect((json["proxies"] as { name: string; state: string }[]).map(({ name, state }) => `${name} ${state}`)[0]).toBe(
    "gateway-5c4b.edge rejected",
  );
  expect((await get("format=json&pretty")).body).toContain('\n  "state": "error"');
});

test("respond accepts GET and HEAD only, and computes no model for other methods", async () => {
  const model = vi.fn(() => troubledModel);
  const head = await respond({ method: "HEAD", query: new URLSearchParams() }, model);
  expect(head).toMatchObject({
    status: 200,
    body: "",
    headers: { "content-length": (await get()).headers["content-length"] },
  });
  expect(model).toHaveBeenCalledTimes(1);
  for (const method of ["POST", "PUT", "DELETE", "OPTIONS", "get"]) {
    expect(await respond({ method, query: new URLSearchParams() }, model)).toMatchObject({
      status: 405,
      headers: { allow: "GET, HEAD" },
    });
  }
  expect(model).toHaveBeenCalledTimes(1);
});

describe("headers", () => {
  it("forbid caching, framing, content sniffing and loading", async () => {
    for (const { headers } of await Promise.all([
      get(),
      get("format=json"),
      get("format=xml"),
      get("", undefined, "POST"),
    ])) {
      expect(headers).toMatchObject({
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "referrer-policy": "no-referrer",
        "cross-origin-resource-policy": "same-origin",
      });
      expect(headers["content-security-policy"]).toMatch(
        /^default-src 'none'; .*base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
      );
      expect(headers["content-security-policy"]).not.toMatch(/unsafe|\*|https?:/);
    }
  });

  it("allow only the page's own style and script, by their hashes", async () => {
    const { body, headers } = await get("refresh=10");
    const hash = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
    const [, style = ""] = /<style>([^]*?)<\/style>/.exec(body) ?? [];
    const [, script = ""] = /<script[^>]*>([^]*?)<\/script>/.exec(body) ?? [];
    expect(headers["content-security-policy"]).toContain(
      `style-src ${hash(style)}; script-src ${hash(script)}; connect-src 'self'`,
    );
    expect(body).not.toMatch(/ (?:style|on\w+)="/);
  });
});
