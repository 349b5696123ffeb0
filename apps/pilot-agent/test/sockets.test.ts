import { spawnSync } from "node:child_process";
import { chmod, chown, lstat, mkdir, stat, symlink, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { maxPendingConnections, pendingConnections } from "@istiod/runtime/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { listenOnSocket } from "../src/socket.js";
import { scratch } from "./fakes.js";

const OTHER_USER = 12_345;
const isRoot = process.getuid?.() === 0;

describe("listenOnSocket", () => {
  let directory: string;
  let servers: Server[] = [];
  const mode = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;
  const listen = (path: string): Promise<void> => {
    const server = createServer();
    servers.push(server);
    return listenOnSocket(server, path);
  };

  beforeEach(async () => {
    directory = await scratch();
  });
  afterEach(async () => {
    for (const server of servers) if (server.listening) await new Promise((resolve) => server.close(resolve));
    servers = [];
  });

  it("a thousand clients connect while the event loop is busy", async (context) => {
    if (maxPendingConnections() < 1024) context.skip("net.core.somaxconn is below 1024");
    const path = join(directory, "s");
    await listen(path);
    expect(await pendingConnections({ path }, 1000)).toBe(1000);
  });

  it.each([0o000, 0o022, 0o077])("keeps the socket and its directory private with umask %o", async (mask) => {
    const before = process.umask(mask);
    try {
      await listen(join(directory, "new", "s"));
    } finally {
      process.umask(before);
    }
    expect((await mode(join(directory, "new"))).toString(8)).toBe("700");
    expect((await mode(join(directory, "new", "s"))).toString(8)).toBe("600");
    expect(process.umask()).toBe(before);
  });

  it("makes a directory of its user private, but not one that users share", async () => {
    await chmod(directory, 0o777);
    await listen(join(directory, "s"));
    expect((await mode(directory)).toString(8)).toBe("700");
    const shared = join(directory, "shared");
    await mkdir(shared);
    await chmod(shared, 0o1777);
    await listen(join(shared, "s"));
    expect(((await stat(shared)).mode & 0o7777).toString(8)).toBe("1777");
    expect((await mode(join(shared, "s"))).toString(8)).toBe("600");
  });

  it("replaces a stale socket, and rejects one in use", async () => {
    const path = join(directory, "s");
    const script = `require("node:net").createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, "SIGKILL"))`;
    expect(spawnSync(process.execPath, ["-e", script], { timeout: 10_000 }).signal).toBe("SIGKILL");
    expect((await lstat(path)).isSocket()).toBe(true);
    await listen(path);
    await expect(listen(path)).rejects.toThrow(`socket ${path} is served by another process`);
  });

  it("rejects files, links and directories in its place", async () => {
    const [file, link, linked] = [join(directory, "file"), join(directory, "link"), join(directory, "linked")];
    await writeFile(file, "");
    await expect(listen(file)).rejects.toThrow(`${file} is not a socket`);
    await listen(join(directory, "target"));
    await symlink(join(directory, "target"), link);
    await expect(listen(link)).rejects.toThrow(`${link} is not a socket`);
    await mkdir(join(directory, "real"));
    await symlink(join(directory, "real"), linked);
    await expect(listen(join(linked, "s"))).rejects.toThrow(`${linked} is not a directory`);
  });

  it("rejects a socket or directory of another user", async ({ skip }) => {
    skip(!isRoot, "needs root, which can give files to another user");
    const path = join(directory, "s");
    await listen(path);
    await chown(path, OTHER_USER, OTHER_USER);
    await expect(listen(path)).rejects.toThrow(`socket ${path} belongs to user ID ${OTHER_USER}`);
    const foreign = join(directory, "foreign");
    await mkdir(foreign);
    await chown(foreign, OTHER_USER, OTHER_USER);
    await expect(listen(join(foreign, "s"))).rejects.toThrow(`directory ${foreign} belongs to user ID ${OTHER_USER}`);
  });

  it("rejects a path that is too long", async () => {
    await expect(listen(`/tmp/${"x".repeat(120)}/s`)).rejects.toThrow("path is longer than 107 bytes");
  });
});
