import { findIptables } from "@istiod/iptables-binary";
import { createNamespaces, runCommand } from "./network/commands.js";

/** Returns the reason why nodes cannot run here, or `undefined` if they can. */
export async function nodesUnavailable(): Promise<string | undefined> {
  if (process.platform !== "linux") return "nodes need Linux";
  if (process.getuid?.() !== 0) return "nodes need root";
  const env = await findIptables();
  if (!env) return "no iptables: install it, or run `npx istiod-iptables install`";
  try {
    const namespaces = await createNamespaces("try");
    try {
      await runCommand([...namespaces.enter, "ip", "link", "add", "try0", "type", "veth", "peer", "name", "try1"]);
      await runCommand([...namespaces.enter, "iptables-nft", "-t", "nat", "-A", "OUTPUT", "-j", "ACCEPT"], { env });
      const overlay = `mount -t tmpfs tmpfs /mnt && cd /mnt && mkdir u w r &&
        mount -t overlay overlay -o lowerdir=/,upperdir=/mnt/u,workdir=/mnt/w r`;
      await runCommand(["unshare", "-m", "-p", "-f", "--propagation", "private", "sh", "-c", overlay]);
    } finally {
      await namespaces.close();
    }
    return undefined;
  } catch (error) {
    return `the kernel does not let nodes run: ${(error as Error).message.split("\n")[0]}`;
  }
}
