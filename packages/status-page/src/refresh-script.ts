import { Html } from "./html.js";

/**
 * Replaces the page's content in place, which keeps the scroll position and focus. Shows a notice if the control plane
 * does not answer. Without scripts, the browser reloads the page instead.
 */
export const refreshScript = new Html(`
const seconds = Number(document.currentScript.dataset.seconds);
setInterval(async () => {
  if (document.hidden || getSelection().type === "Range") return;
  const focused = document.activeElement?.getAttribute("href");
  let page;
  try {
    const response = await fetch(location.href.split("#")[0], { signal: AbortSignal.timeout(seconds * 1000) });
    if (response.ok) page = new DOMParser().parseFromString(await response.text(), "text/html");
  } catch {}
  document.getElementById("unreachable").hidden = page !== undefined;
  if (page === undefined) return;
  for (const id of ["main", "moment"]) document.getElementById(id).replaceWith(page.getElementById(id));
  document.title = page.title;
  document.querySelector("link[rel=icon]").href = page.querySelector("link[rel=icon]").href;
  if (focused && document.activeElement === document.body) [...document.links].find((a) => a.getAttribute("href") === focused)?.focus({ preventScroll: true });
}, seconds * 1000);
`);
