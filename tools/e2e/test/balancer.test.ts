import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { Balancer, type Endpoint } from "@istiod/e2e";

/** Starts a server that sends its name and ends. */
async function server(name: string): Promise<Endpoint & { readonly stop: () => Promise<void> }> {
  const listening = createServer((socket) => void socket.on("error", () => undefined).end(name)).listen(0, "127.0.0.1");
  await once(listening, "listening");
  const stop = async (): Promise<void> => {
    if (!listening.listening) return;
    listening.close();
    await once(listening, "close");
  };
  onTestFinished(stop);
  return { host: "127.0.0.1", port: (listening.address() as AddressInfo).port, stop };
}

async function answer({ host, port }: Endpoint): Promise<string> {
  const socket = connect({ host, port });
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  socket.on("error", () => undefined);
  await once(socket, "close");
  return text;
}

test("connections go to each endpoint in turn, and to another one if one refuses", async () => {
  const [a, b] = [await server("a"), await server("b")];
  const free = await server("free");
  await free.stop();
  const balancer = await Balancer.listen({ host: "127.0.0.1", port: free.port });
  onTestFinished(() => balancer.close());
  expect(await answer(balancer)).toBe("");
  balancer.use([a, b]);
  const answers = [await answer(balancer), await answer(balancer), await answer(balancer), await answer(balancer)];
  expect(answers.toSorted()).toEqual(["a", "a", "b", "b"]);
  await a.stop();
  expect([await answer(balancer), await answer(balancer)]).toEqual(["b", "b"]);
});
