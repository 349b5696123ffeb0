import { html, type Html } from "./html.js";

/** The answer of a service, or why there is none. */
export type Answered<T> = (T & Served) | { readonly error: string };

/** The workload that answered, and the identity of its caller as its proxy verified it. */
export interface Served {
  readonly servedBy: string;
  readonly peer?: string;
}

export interface Details {
  readonly author: string;
  readonly year: number;
  readonly pages: number;
}

export type Ratings = Readonly<Record<"reviewer1" | "reviewer2", number>>;

export interface Reviews {
  readonly version: string;
  readonly reviews: readonly string[];
  /** Absent in versions that show none. */
  readonly ratings?: Answered<Ratings>;
}

export interface Product extends Served {
  readonly title: string;
  readonly details: Answered<Details>;
  readonly reviews: Answered<Reviews>;
}

const STARS = 5;
const STYLE = html`body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:0 auto;padding:1rem;color:#222}
h1{font-size:1.5rem}h2{font-size:1.1rem;margin:1.5rem 0 .25rem}blockquote{margin:.5rem 0;padding:.5rem .75rem;background:#f3f4f6;border-radius:.5rem}
dl{display:grid;grid-template-columns:max-content 1fr;gap:0 1rem;margin:0}dt,small{color:#666}dd{margin:0}small{overflow-wrap:anywhere}.stars{color:#b45309}.error{color:#b91c1c}
a{display:inline-block;margin-top:1rem}@media(prefers-color-scheme:dark){body{background:#111;color:#ddd}blockquote{background:#222}.stars{color:#fbbf24}dt,small{color:#999}.error{color:#f87171}a{color:#93c5fd}}`;

/** Returns the product page as HTML. */
export function renderProductPage(product: Product): string {
  const { title, details, reviews } = product;
  return html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title><style>${STYLE}</style></head>
<body>
<h1>${title}</h1>
<p>${served("page", product)}</p>
<h2>Details</h2>
${"error" in details ? failure(details.error) : html`<dl><dt>Author</dt><dd>${details.author}</dd><dt>Year</dt><dd>${details.year}</dd><dt>Pages</dt><dd>${details.pages}</dd></dl><p>${served("details", details)}</p>`}
<h2>Reviews</h2>
${"error" in reviews ? failure(reviews.error) : renderReviews(reviews)}
<a href="">Reload</a>
</body>
</html>
`.text;
}

function renderReviews(answer: Reviews & Served): Html {
  const { version, reviews, ratings } = answer;
  const quotes = reviews.map((text, n) => html`<blockquote>${text}${stars(ratings, n)}</blockquote>`);
  const unrated = ratings && "error" in ratings ? failure(ratings.error) : html``;
  const rated = ratings && !("error" in ratings) ? html`<br>${served("ratings", ratings)}` : html``;
  return html`${quotes}${unrated}<p><strong>reviews ${version}</strong><br>${served("reviews", answer)}${rated}</p>`;
}

function stars(ratings: Answered<Ratings> | undefined, n: number): Html {
  if (!ratings || "error" in ratings) return html``;
  const given = Number(n === 0 ? ratings.reviewer1 : ratings.reviewer2);
  const full = Math.min(STARS, Math.max(0, Math.round(given) || 0));
  return html`<br><span class="stars" role="img" aria-label="${full} of ${STARS} stars">${"★".repeat(full)}${"☆".repeat(STARS - full)}</span>`;
}

function served(what: string, { servedBy, peer }: Served): Html {
  return html`<small>${what} served by ${servedBy}, called by ${peer ?? "an unverified caller"}</small>`;
}

function failure(reason: string): Html {
  return html`<p class="error">Not available: ${reason}</p>`;
}
