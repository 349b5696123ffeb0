import { stat } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { ImageSources } from "../src/agent/images.js";

const path = (relative: string): string => fileURLToPath(new URL(`../../../${relative}`, import.meta.url));
const changedAt = (file: string): Promise<number> =>
  stat(path(file)).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );

const bundles = await Promise.all(["istiod", "pilot-agent"].map((app) => changedAt(`apps/${app}/bundle/main.js`)));
const layouts = await Promise.all(["pilot", "proxyv2"].map((name) => changedAt(`build/images/${name}/index.json`)));

/** The reason why the images of this repository cannot run, or `undefined` if they can. */
export const imagesUnavailable =
  Math.min(...layouts) === 0
    ? "there are no images: npm run images"
    : Math.min(...layouts) < Math.max(...bundles)
      ? "the images are older than the bundles: npm run images"
      : undefined;

/** The images of `npm run images`; none if they are not there. */
export const builtImages: ImageSources =
  imagesUnavailable === undefined
    ? { pilot: { layout: path("build/images/pilot") }, proxyv2: { layout: path("build/images/proxyv2") } }
    : {};
