import { renderPage, type StatusModel } from "@istiod/status-page";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { escapeHtml, html, link } from "../src/html.js";
import { sectionOf } from "./page-text.js";
import { emptyModel, proxy, troubledModel, withType } from "./models.js";

const hostile = `"><script>alert(1)</script><img src=x onerror='alert(2)'>\`&amp;`;

describe("a template", () => {
  it("escapes text and numbers, keeps markup, and omits absent values", () => {
    expect(html`<a title="${hostile}">${1} ${undefined}${false}${["<", html`<b>`]}</a>`.markup).toBe(
      '<a title="&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=&#39;alert(2)&#39;&gt;&#96;&amp;amp;">1 &lt;<b></a>',
    );
  });

  it("replaces invisible and bidirectional characters by their code points", () => {
    expect(escapeHtml("a\u0000\u202Eb\u2066c\u200Bd\u001b[31m\ttab\nline é 漢")).toBe(
      "a\\u0000\\u202eb\\u2066c\\u200bd\\u001b[31m\ttab\nline é 漢",
    );
  });

  it("renders links to HTTP and HTTPS only", () => {
    expect(link("./debug/syncz?a=1&b=2", "x").markup).toBe('<a href="./debug/syncz?a=1&amp;b=2">x</a>');
    expect(link("https://istio.io/", "x").markup).toBe('<a href="https://istio.io/">x</a>');
    for (const href of [
      "javascript:alert(1)",
      " javascript:alert(1)",
      "java\nscript:alert(1)",
      "data:text/html,x",
      "vbscript:x",
      "http://[",
      undefined,
    ])
      expect(link(href, "<x>").markup, href).toBe("&lt;x&gt;");
  });
});

/** The same model with other texts: every string but those that are chosen from a few. */
function withTexts(value: unknown, text: (path: string) => string, path = ""): unknown {
  if (typeof value === "string")
    return value === "" || /\.(state|severity|level|type|href|code)$/.test(path) ? value : text(path);
  if (Array.isArray(value)) return value.map((each) => withTexts(each, text, path));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withTexts(each, text, `${path}.${key}`)]));
}

const tagsOf = (page: string): readonly string[] =>
  [...page.matchAll(/<[^>]*>/g)].map(([tag]) => tag.replace(/"[^"]*"/g, '""'));

describe("a page", () => {
  it("has the same tags and attributes for any text", () => {
    const tags = tagsOf(renderPage(withTexts(troubledModel, () => "x") as StatusModel));
    expect(tags.length).toBeGreaterThan(300);
    const text = fc.oneof(
      fc.string({ minLength: 1, maxLength: 20 }),
      fc.constantFrom(hostile, "</title></style></script>", "<!--", "]]>", '" onclick="x'),
    );
    fc.assert(
      fc.property(text, (some) => {
        expect(tagsOf(renderPage(withTexts(troubledModel, () => some) as StatusModel))).toEqual(tags);
      }),
      { numRuns: 100 },
    );
  });

  it("shows hostile names and messages literally", () => {
    const rejection = { reason: hostile, resources: [hostile], causes: [hostile], at: emptyModel.at };
    const page = renderPage({
      ...emptyModel,
      proxies: [proxy(hostile, { version: hostile, types: withType({ type: "LDS", state: "rejected", rejection }) })],
    });
    expect(page).not.toContain("<script");
    expect(page).not.toContain("<img");
    expect(sectionOf(page, "rejections")).toContain("&lt;script&gt;alert(1)&lt;/script&gt;");
  });
});
