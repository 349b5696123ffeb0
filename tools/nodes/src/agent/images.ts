import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { parse } from "yaml";

/** An image: a program of this machine that stands for one, or what a layout has been unpacked to. */
export interface Image {
  /** Program and arguments that a container's `command` replaces. */
  readonly entrypoint: readonly string[];
  /** Arguments that a container's `args` replace. Default: none. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Files of this machine by the path at which containers find them. */
  readonly files?: Readonly<Record<string, string>>;
  /** Folder with the files of the image. Default: the files of this machine. */
  readonly root?: string;
  /** User and group of containers, if the Pod has none. Default 0. */
  readonly user?: number;
  readonly group?: number;
}

/** An OCI image layout, of which the image of this machine's architecture is unpacked. */
export interface LayoutImage {
  /** Folder with `index.json`. */
  readonly layout: string;
}

export type ImageSources = Readonly<Record<string, Image | LayoutImage>>;
export type Images = Readonly<Record<string, Image>>;

/** Returns the last part of an image's name without tag and digest: `pilot` for `docker.io/istio/pilot:1.30`. */
export function imageName(image: string): string {
  const last = image.split("/").at(-1) ?? "";
  return last.split("@")[0]?.split(":")[0] ?? "";
}

/**
 * Reads a registry file, as YAML or JSON: images by name. Paths that begin with `./` are relative to the file.
 *
 * @throws Error that names the file and the field
 */
export async function readImages(file: string): Promise<ImageSources> {
  const content: unknown = parse(await readFile(file, "utf8"));
  if (typeof content !== "object" || content === null) throw new Error(`${file}: must be a map of images by name`);
  const relative = (path: string): string => (path.startsWith("./") ? resolve(dirname(file), path) : path);
  const images: Record<string, Image | LayoutImage> = {};
  for (const [name, value] of Object.entries(content as Record<string, unknown>)) {
    const image = checkImage(`${file}: ${name}`, value);
    if ("layout" in image) {
      images[name] = { layout: relative(image.layout) };
      continue;
    }
    const files = Object.entries(image.files ?? {}).map(([to, from]) => [to, relative(from)]);
    const entrypoint = image.entrypoint.map(relative);
    images[name] = { ...image, entrypoint, files: Object.fromEntries(files) as Record<string, string> };
  }
  return images;
}

function checkImage(at: string, value: unknown): Image | LayoutImage {
  if (typeof value !== "object" || value === null) throw new Error(`${at}: must be a map`);
  if ("layout" in value) {
    if (typeof value.layout !== "string") throw new Error(`${at}.layout: must be a string`);
    if (Object.keys(value).length > 1) throw new Error(`${at}.layout: must be the only field`);
    return { layout: value.layout };
  }
  for (const [field, content] of Object.entries(value)) {
    const isList = Array.isArray(content) && content.every((item) => typeof item === "string");
    const isMap = typeof content === "object" && !Array.isArray(content) && content !== null;
    if (field === "entrypoint" || field === "args") {
      if (!isList) throw new Error(`${at}.${field}: must be a list of strings`);
    } else if (field === "env" || field === "files") {
      if (!isMap || Object.values(content).some((item) => typeof item !== "string"))
        throw new Error(`${at}.${field}: must be a map of strings`);
    } else throw new Error(`${at}.${field}: unknown field; known are layout, or entrypoint, args, env and files`);
  }
  if (!("entrypoint" in value)) throw new Error(`${at}.entrypoint: required`);
  return value as Image;
}
