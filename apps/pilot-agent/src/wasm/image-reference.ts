/** An image in a registry. */
export interface ImageReference {
  /** Host with an optional port. */
  readonly registry: string;
  readonly repository: string;
  /** A tag, or a digest such as `sha256:…`. */
  readonly version: string;
}

const dockerHub = "index.docker.io";

/**
 * Parses the name of an image as Docker does: without a registry it is of Docker Hub, without a tag or digest it is
 * `latest`. Undefined if it is malformed.
 */
export function parseImageReference(text: string): ImageReference | undefined {
  const [, path = "", tag, digest] = /^([^@]*?)(?::([\w][\w.-]{0,127}))?(?:@(sha256:[a-f0-9]{64}))?$/.exec(text) ?? [];
  const [first = "", ...rest] = path.split("/");
  const hasRegistry = rest.length > 0 && (/[.:]/.test(first) || first === "localhost");
  const registry = hasRegistry ? (first === "docker.io" ? dockerHub : first) : dockerHub;
  const name = (hasRegistry ? rest : [first, ...rest]).join("/");
  const repository = registry === dockerHub && !name.includes("/") ? `library/${name}` : name;
  if (!/^[a-z0-9]+(?:[._/-]+[a-z0-9]+)*$/.test(repository) || !URL.canParse(`https://${registry}/`)) return undefined;
  return { registry, repository, version: digest ?? tag ?? "latest" };
}

/** Reports whether a registry has plain HTTP by convention: on this machine, or at a private address. */
export function isLocalRegistry(registry: string): boolean {
  const { hostname } = new URL(`https://${registry}/`);
  return (
    /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$|\.local(?:host)?$/.test(hostname) ||
    /^(?:10|192\.168|172\.(?:1[6-9]|2\d|3[01]))\.[\d.]+$/.test(hostname)
  );
}
