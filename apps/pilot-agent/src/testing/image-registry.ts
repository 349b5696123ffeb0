import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";

export interface ImageRegistryOptions {
  /** Credentials `user:password` for which tokens are issued. Default: everybody has access. */
  readonly credentials?: string;
}

/** A registry of images, on loopback over plain HTTP. */
export interface ImageRegistry {
  /** Host and port. */
  readonly host: string;
  /** Paths of the requests, with their method of authorization. */
  readonly requests: readonly string[];
  /** Adds an image with one layer. Returns the digest of its manifest. */
  push(repository: string, tag: string, image: PushedImage): string;
  close(): Promise<void>;
}

export interface PushedImage {
  /** Type of the manifest. */
  readonly type: string;
  readonly layer: { readonly type: string; readonly content: Uint8Array };
  /** True if the tag names an index with this image for all platforms of the tests. */
  readonly isIndexed?: boolean;
  /** Content that is served in place of the layer. */
  readonly served?: Uint8Array;
}

/** Starts a registry. */
export async function startImageRegistry({ credentials }: ImageRegistryOptions = {}): Promise<ImageRegistry> {
  const contents = new Map<string, { readonly type: string; readonly body: Uint8Array }>();
  const requests: string[] = [];
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const { url = "", headers } = request;
    requests.push(`${url} ${headers.authorization?.split(" ")[0] ?? ""}`.trim());
    const basic = credentials && `Basic ${Buffer.from(credentials).toString("base64")}`;
    if (url.startsWith("/token"))
      return void (headers.authorization === basic
        ? response.end(JSON.stringify({ token: "issued" }))
        : response.writeHead(403).end());
    if (basic !== undefined && headers.authorization !== "Bearer issued") {
      const challenge = `Bearer realm="http://${host}/token",service="registry",scope="repository:a:pull"`;
      return void response.writeHead(401, { "www-authenticate": challenge }).end();
    }
    const found = contents.get(url);
    if (found === undefined) return void response.writeHead(404).end();
    response.writeHead(200, { "content-type": found.type }).end(found.body);
  };
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    host,
    requests,
    push(repository, tag, { type, layer, isIndexed = false, served = layer.content }) {
      const base = `/v2/${repository}`;
      contents.set(`${base}/blobs/${digestOf(layer.content)}`, { type: "application/octet-stream", body: served });
      const layers = [{ mediaType: layer.type, digest: digestOf(layer.content), size: layer.content.length }];
      const manifest = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: type, layers }));
      const digest = digestOf(manifest);
      contents.set(`${base}/manifests/${digest}`, { type, body: manifest });
      if (!isIndexed) contents.set(`${base}/manifests/${tag}`, { type, body: manifest });
      else {
        const indexType = "application/vnd.oci.image.index.v1+json";
        const manifests = ["s390x", "amd64"].map((architecture) => ({
          mediaType: type,
          digest: architecture === "amd64" ? digest : `sha256:${"0".repeat(64)}`,
          platform: { os: "linux", architecture },
        }));
        const index = JSON.stringify({ schemaVersion: 2, mediaType: indexType, manifests });
        contents.set(`${base}/manifests/${tag}`, { type: indexType, body: Buffer.from(index) });
      }
      return digest;
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

function digestOf(content: Uint8Array): string {
  return `sha256:${createHash("sha256").update(content).digest("hex")}`;
}

/** Returns a tar archive with one file, compressed by gzip. */
export function archiveOf(name: string, content: Uint8Array): Buffer {
  const header = Buffer.alloc(512);
  header.write(name);
  header.write(content.length.toString(8).padStart(11, "0"), 124);
  header.write("0", 156);
  header.write("ustar", 257);
  const padding = Buffer.alloc((512 - (content.length % 512)) % 512);
  return gzipSync(Buffer.concat([header, content, padding, Buffer.alloc(1024)]));
}
