import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Receiver, whyNoJava } from "../src/index.js";

const never = (): Promise<boolean> => Promise.resolve(false);
const script = (text: string): Receiver => new Receiver("/bin/sh", ["-c", text]);

describe("a receiver of telemetry", () => {
  it("that ends is an error with its words, at once", async () => {
    const receiver = script("echo 'cannot bind' >&2; echo 'bye'; exit 3");
    await expect(receiver.until("it listens", never, 60_000)).rejects.toThrow(
      /^sh: exited with 3 before it listens\n(cannot bind\nbye|bye\ncannot bind)$/,
    );
    await receiver.kill();
  });

  it("that does not exist is an error, at once", async () => {
    const receiver = new Receiver("/nonexistent/collector", []);
    await expect(receiver.until("it listens", never, 60_000)).rejects.toThrow(
      "collector: spawn /nonexistent/collector ENOENT before it listens",
    );
    await receiver.kill();
  });

  it("that does not answer is an error with its last words", async () => {
    const receiver = script("echo 'still loading'; exec sleep 60");
    await expect(receiver.until("it listens", never, 1500)).rejects.toThrow(
      "sh: not within 1.5 s: it listens\nstill loading",
    );
    await receiver.kill();
    await expect(receiver.until("it listens", never, 60_000)).rejects.toThrow("sh: exited with SIGKILL");
  });

  it("is ready once it answers, whether or not it could be asked before", async () => {
    const receiver = script("exec sleep 60");
    let asked = 0;
    const answer = (): Promise<boolean> => (++asked < 3 ? Promise.reject(new Error("refused")) : Promise.resolve(true));
    await receiver.until("it listens", answer, 60_000);
    expect(asked).toBe(3);
    await receiver.kill();
  });
});

describe("Java for Zipkin", () => {
  let folder = "";
  beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), "java-"))));
  afterAll(() => rm(folder, { recursive: true }));

  const java = async (text: string, status = 0): Promise<string | undefined> => {
    const command = join(folder, "java");
    await writeFile(command, `#!/bin/sh\necho '${text}' >&2\nexit ${status}\n`);
    await chmod(command, 0o755);
    return whyNoJava(command);
  };

  it("is 17 or later", async () => {
    expect(await java('openjdk version "17.0.15" 2025-04-15')).toBeUndefined();
    expect(await java('openjdk version "21" 2023-09-19')).toBeUndefined();
    expect(await java('openjdk version "11.0.20" 2023-07-18')).toBe("Java 11: Zipkin needs Java 17 or later");
    expect(await java('java version "1.8.0_381"')).toBe("Java 8: Zipkin needs Java 17 or later");
    expect(await java('openjdk version "25-ea" 2025-09-16')).toBeUndefined();
  });

  it("is needed", async () => {
    expect(await java("no runtime", 1)).toBe("no Java: Zipkin needs Java 17 or later");
    expect(await java("GraalVM")).toBe("unknown version of Java: Zipkin needs Java 17 or later");
    expect(whyNoJava(join(folder, "none"))).toBe("no Java: Zipkin needs Java 17 or later");
  });
});
