import { describe, expect, it } from "vitest";
import { type Product, renderProductPage } from "../src/product-page.js";

const product: Product = {
  title: "The Comedy of Errors",
  servedBy: "productpage-v1",
  peer: "spiffe://cluster.local/ns/istio-system/sa/ingressgateway",
  details: { author: "William Shakespeare", year: 1595, pages: 200, servedBy: "details-v1" },
  reviews: { version: "v1", reviews: ["Entertaining.", "Fun."], servedBy: "reviews-v1" },
};
const stars = (page: string): string[] => [...page.matchAll(/aria-label="([^"]*)"/g)].map(([, label]) => label!);

describe("the product page", () => {
  it("shows the product, its details and reviews, and the workloads that answered", () => {
    const page = renderProductPage(product);
    for (const text of [
      "<h1>The Comedy of Errors</h1>",
      "William Shakespeare",
      "<blockquote>Entertaining.</blockquote>",
      "reviews v1",
      "served by reviews-v1",
      "sa/ingressgateway",
      'name="viewport"',
    ])
      expect(page).toContain(text);
    expect(page.startsWith("<!doctype html>")).toBe(true);
    expect(stars(page)).toEqual([]);
  });

  it("shows stars where the version of reviews asks for ratings", () => {
    const page = renderProductPage({
      ...product,
      reviews: {
        version: "v2",
        reviews: ["Entertaining.", "Fun."],
        servedBy: "reviews-v2",
        ratings: { reviewer1: 5, reviewer2: 4, servedBy: "ratings-v1" },
      },
    });
    expect(stars(page)).toEqual(["5 of 5 stars", "4 of 5 stars"]);
    expect(page).toContain("★★★★☆");
    expect(page).toContain("ratings served by ratings-v1");
  });

  it("keeps ratings that are no ratings between no star and five", () => {
    const ratings = { reviewer1: -1, reviewer2: 1e9, servedBy: "ratings-v1" };
    expect(
      stars(renderProductPage({ ...product, reviews: { version: "v2", reviews: ["a", "b"], servedBy: "x", ratings } })),
    ).toEqual(["0 of 5 stars", "5 of 5 stars"]);
  });

  it("says what is not available, and shows the rest", () => {
    const page = renderProductPage({ ...product, reviews: { error: "reviews: HTTP 503 no healthy upstream" } });
    expect(page).toContain("Not available: reviews: HTTP 503 no healthy upstream");
    expect(page).toContain("William Shakespeare");
  });

  it("escapes everything that other workloads answered", () => {
    const evil = `<script>alert("1")</script>&'`;
    const escaped = "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#39;";
    const page = renderProductPage({
      title: evil,
      servedBy: evil,
      peer: evil,
      details: { author: evil, year: evil as unknown as number, pages: evil as unknown as number, servedBy: evil },
      reviews: { version: evil, reviews: [evil], servedBy: evil, ratings: { error: evil } },
    });
    expect(page).not.toContain("<script");
    expect(page.split(escaped)).toHaveLength(13);
  });
});
