import { existsSync } from "node:fs";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

const executablePath = process.env["CHROMIUM_PATH"] ?? "/usr/bin/chromium";

/** Reason for the lack of a browser; undefined if there is one. */
export const noBrowser = existsSync(executablePath)
  ? undefined
  : `no Chromium at ${executablePath}: set CHROMIUM_PATH, or run npm run chromium:install`;

/** A browser of this test's own, which asks for nothing by itself. */
export function launchBrowser(): Promise<Browser> {
  const quiet = ["--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
  return chromium.launch({
    executablePath,
    headless: true,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", ...quiet],
  });
}

/** A page, and what it asked for and complained of. */
export interface WatchedPage {
  readonly page: Page;
  readonly requests: readonly string[];
  readonly complaints: readonly string[];
}

export async function openPage(
  browser: Browser,
  address: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const page = await (await browser.newContext(options)).newPage();
  const requests: string[] = [];
  const complaints: string[] = [];
  page.on("request", (request) => requests.push(request.url()));
  page.on("console", (message) => complaints.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.goto(address);
  return { page, requests, complaints };
}
