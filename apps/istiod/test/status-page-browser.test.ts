import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { launchBrowser, noBrowser, openPage } from "./browser.js";
import { lowContrasts, overflows } from "./page-measures.js";
import { refusal, troubledMesh } from "./troubled-mesh.js";

const phone = { viewport: { width: 360, height: 740 } };
const desktop = { viewport: { width: 1280, height: 900 } };

describe("the status page in a browser", { timeout: 60_000 }, () => {
  let browser: Browser | undefined;
  const opened = async (
    ...[address, options]: [string, Parameters<typeof openPage>[2]?]
  ): ReturnType<typeof openPage> => openPage(browser!, address, options);

  beforeAll(async () => {
    if (noBrowser === undefined) browser = await launchBrowser();
    else console.warn(`skipped: ${noBrowser}`);
  });
  afterAll(() => browser?.close());
  beforeEach(({ skip }) => skip(noBrowser !== undefined, noBrowser));

  it("shows problems first, requests only istiod, and logs no errors", async () => {
    const { istiod, config } = await troubledMesh();
    const { page, requests, complaints } = await opened(`${istiod.http}/`, phone);
    expect(await page.title()).toBe("(2) istiod istiod-7: 2 things need attention");
    const trouble = page.getByRole("link", { name: "1 proxy rejects its configuration" });
    expect((await trouble.boundingBox())?.y).toBeLessThan(phone.viewport.height);
    await trouble.click();
    expect(new URL(page.url()).hash).toBe("#rejections");
    for (const text of [refusal.replace("80: ", ""), "VirtualService/shop/cart", `${join(config, "bad.yaml")}:6`])
      expect(await page.getByText(text).first().isVisible(), text).toBe(true);
    const row = page.getByRole("row", { name: "web.shop" });
    expect(await row.getByRole("cell", { name: "RDS: NACK", exact: true }).isVisible()).toBe(true);
    expect(requests).toEqual([`${istiod.http}/`]);
    expect(complaints).toEqual([]);
  });

  it.each([
    ["phone", phone],
    ["tablet", { viewport: { width: 800, height: 1000 } }],
    ["desktop", desktop],
  ])("fits on a %s", async (_, options) => {
    const { istiod } = await troubledMesh();
    const { page } = await opened(`${istiod.http}/`, options);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(options.viewport.width);
    expect(await page.evaluate(overflows)).toEqual([]);
  });

  it.each(["light", "dark"] as const)("has readable contrast with the %s colors", async (colorScheme) => {
    const { istiod } = await troubledMesh();
    const { page } = await opened(`${istiod.http}/`, { ...desktop, colorScheme });
    const { measured, low } = await page.evaluate(lowContrasts);
    expect(measured).toBeGreaterThan(100);
    expect(low).toEqual([]);
    const brightness = await page.evaluate(() =>
      Number(/\d+/.exec(getComputedStyle(document.body).backgroundColor)?.[0]),
    );
    expect(brightness > 128).toBe(colorScheme === "light");
  });

  it("links to existing pages", async () => {
    const { istiod } = await troubledMesh();
    const { page } = await opened(`${istiod.http}/`);
    const links = await page.evaluate(() => [...document.links].map(({ href }) => href));
    const outside = links.filter((href) => href.startsWith("https://istio.io/latest/docs/"));
    expect(outside).toHaveLength(3);
    const inside = [...new Set(links.filter((href) => !outside.includes(href)))];
    expect(inside.length).toBeGreaterThan(25);
    expect(inside).toContain(`http://127.0.0.1:${istiod.addresses["monitoringAddr"]?.port}/metrics`);
    for (const href of inside) expect(`${href} ${(await fetch(href)).status}`).toBe(`${href} 200`);
    const missing = await page.evaluate(() =>
      [...document.querySelectorAll('a[href^="#"]')]
        .map((a) => a.getAttribute("href") ?? "")
        .filter((href) => document.querySelector(href) === null),
    );
    expect(missing).toEqual([]);
  });

  it("works with the keyboard alone", async () => {
    const { istiod } = await troubledMesh();
    const { page } = await opened(`${istiod.http}/`);
    await page.keyboard.press("Tab");
    const skip = page.getByRole("link", { name: "Skip to the status" });
    expect(
      await skip.evaluate((link) => link === document.activeElement && link.getBoundingClientRect().left >= 0),
    ).toBe(true);
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    const focused = await page.evaluate(() => ({
      text: document.activeElement?.textContent,
      outline: getComputedStyle(document.activeElement ?? document.body).outlineStyle,
    }));
    expect(focused).toEqual({ text: "1 proxy rejects its configuration", outline: "solid" });
  });

  it("shows fixes without a reload, and reports that istiod does not respond", async () => {
    const { istiod, config, accept } = await troubledMesh();
    const { page, complaints } = await opened(`${istiod.http}/?refresh=2`);
    await page.evaluate(() => void (document.body.dataset["seen"] = "yes"));
    accept();
    await Promise.all(["bad.yaml", "vs.yaml"].map((file) => rm(join(config, file))));
    await expect
      .poll(() => page.locator("#instance-title").textContent(), { timeout: 20_000 })
      .not.toBe("2 things need attention");
    await expect.poll(() => page.locator("#rejections").count(), { timeout: 20_000 }).toBe(0);
    expect(await page.locator("body").getAttribute("data-seen")).toBe("yes");
    expect(complaints).toEqual([]);
    const unreachable = page.getByText("istiod does not answer: this is its last state.");
    expect(await unreachable.isVisible()).toBe(false);
    await istiod.close();
    await unreachable.waitFor({ state: "visible", timeout: 20_000 });
    expect(await page.locator("#proxies").isVisible()).toBe(true);
  });

  it("has the same content without scripts", async () => {
    const { istiod } = await troubledMesh();
    const withScripts = await opened(`${istiod.http}/?refresh=30`);
    const { page } = await opened(`${istiod.http}/?refresh=30`, { javaScriptEnabled: false });
    const headings = (of: typeof page): Promise<string[]> => of.locator("h2").allTextContents();
    expect(await headings(page)).toEqual(await headings(withScripts.page));
    expect(await page.locator("noscript meta, meta[http-equiv=refresh]").count()).toBe(1);
  });
});
