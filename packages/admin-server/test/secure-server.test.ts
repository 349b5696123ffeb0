import { once } from "node:events";
import { request } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { Duplex } from "node:stream";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { createSecureAdminServer, type HttpLimits } from "@istiod/admin-server";
import { CertificateAuthority, createSelfSignedRoot, issueServingCertificate, selfSignedBundle } from "@istiod/ca";
import { FakeClock } from "@istiod/runtime/testing";
import { afterEach, expect, it } from "vitest";

/** An address of this machine other than that of the honest callers, where the system has more than one. */
const strangerAddress = "127.0.0.66";

const closing: (() => unknown)[] = [];
afterEach(() => Promise.all(closing.splice(0).map((close) => close())));

async function serve(limits: HttpLimits = {}) {
  const authority = await newAuthority();
  const server = createSecureAdminServer((_, response) => response.end("ok"), await certificateOf(authority), limits);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { server, authority, port: (server.address() as AddressInfo).port };
}

/** Returns the bytes with which a TLS client begins. */
function clientHello(): Promise<Buffer> {
  return new Promise((resolve) => {
    const transport = new Duplex({
      read: () => undefined,
      write: (bytes: Buffer, _encoding, done) => {
        resolve(bytes);
        done();
      },
    });
    connectTls({ socket: transport }).on("error", () => undefined);
  });
}

async function newAuthority(): Promise<CertificateAuthority> {
  const root = await createSelfSignedRoot(
    {
      organization: "test",
      lifetime: 3_600_000,
      key: { type: "ecdsa", curve: "P-256" },
    },
    Date.now(),
  );
  return new CertificateAuthority({ bundle: selfSignedBundle(root, "test", Date.now()) });
}

async function certificateOf(authority: CertificateAuthority) {
  const { key, cert } = await issueServingCertificate(authority, ["localhost"], 3_600_000, Date.now());
  return { key, cert };
}

async function get(port: number, ca: string): Promise<number | undefined> {
  const sent = request({ port, host: "127.0.0.1", servername: "localhost", ca, agent: false }).end();
  const [response] = (await once(sent, "response")) as [{ readonly statusCode?: number; resume(): void }];
  response.resume();
  return response.statusCode;
}

it("answers over TLS, and by a new certificate after it was replaced", async () => {
  const { server, port, authority } = await serve();
  expect(await get(port, authority.bundle.rootsPem)).toBe(200);
  const next = await newAuthority();
  server.setSecureContext(await certificateOf(next));
  expect(await get(port, next.bundle.rootsPem)).toBe(200);
  await expect(get(port, authority.bundle.rootsPem)).rejects.toThrow(/certificate/);
});

it("closes connections that do not finish the handshake", async () => {
  const { port } = await serve({ headersMs: 50 });
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => undefined);
  await once(socket, "close");
});

it("closes the oldest connection of the largest caller at the limit", async () => {
  const { port, authority } = await serve({ maxConnections: 2 });
  const sockets: TLSSocket[] = [];
  for (let i = 0; i < 3; i++) {
    const socket = connectTls({ port, host: "127.0.0.1", servername: "localhost", ca: authority.bundle.rootsPem });
    socket.on("error", () => undefined);
    closing.push(() => socket.destroy());
    sockets.push(socket);
    await once(socket, "secureConnect");
  }
  const [oldest] = sockets;
  if (oldest !== undefined && !oldest.closed) await once(oldest, "close");
  expect(await get(port, authority.bundle.rootsPem)).toBe(200);
});

it("answers others while one address floods it with handshakes, of which few are begun", async ({ skip }) => {
  if (process.platform !== "linux") return skip("only Linux has all of 127.0.0.0/8");
  // The clock stands still, so that no handshake is slow.
  const { port, authority } = await serve({ maxConnections: 5000, clock: new FakeClock() });
  const hello = await clientHello();
  let answered = 0;
  const flood = Array.from({ length: 200 }, () => {
    const socket = connect({ port, host: "127.0.0.1", localAddress: strangerAddress });
    socket.on("error", () => undefined).once("data", () => answered++);
    socket.write(hello);
    closing.push(() => socket.destroy());
    return once(socket, "connect");
  });
  await Promise.all(flood);
  expect(await get(port, authority.bundle.rootsPem)).toBe(200);
  await expect.poll(() => answered).toBe(32);
  expect(await get(port, authority.bundle.rootsPem)).toBe(200);
  expect(answered).toBe(32);
});
