import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { listening } from "../src/listening.js";
import { openLog, serveControlZ } from "@istiod/logging";
import { flagValues, folder, serve } from "./serving.js";

const ends: (() => unknown)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

/** A port of loopback that somebody else listens on. */
async function takenPort(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ends.push(() => server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe("a port that is in use ends istiod with the flag, the address and the port", () => {
  it.each(["grpcAddr", "secureGRPCAddr", "httpAddr", "monitoringAddr"] as const)("of --%s", async (flag) => {
    const address = await takenPort();
    const directory = await folder({ "config/empty.yaml": "" });
    const started = serve({ configDir: `${directory}/config`, caDir: `${directory}/ca`, [flag]: address });
    await expect(started).rejects.toThrow(
      `--${flag} ${address}: address already in use; choose another port with --${flag}`,
    );
  });

  it("of ControlZ", async () => {
    const address = await takenPort();
    const { scopes } = openLog(flagValues({ log_target: ["/dev/null"] }));
    const served = serveControlZ({ address: "127.0.0.1", port: Number(address.split(":")[1]) }, scopes);
    await expect(listening("ctrlz_port", address, served)).rejects.toThrow(
      `--ctrlz_port ${address}: address already in use; choose another port with --ctrlz_port`,
    );
  });

  it("and so does an address that this machine does not have", async () => {
    const configDir = await folder({ "empty.yaml": "" });
    await expect(serve({ configDir, httpAddr: "192.0.2.1:8080" })).rejects.toThrow(
      "--httpAddr 192.0.2.1:8080: cannot assign requested address; choose another address with --httpAddr",
    );
  });
});
