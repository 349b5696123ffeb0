import { debianPackages } from "../downloads/debian-packages.js";
import type { Architecture, Lock } from "../lock.js";
import { addDebianFiles, LIBRARIES, type Selection } from "./debian-files.js";
import { addLink, type Tree } from "./tree.js";

/**
 * Programs that the agent runs, with their libraries: iptables, nft and ip redirect traffic in the init container, and
 * mkfifo creates an output that Envoy can open where that of the container is another user's.
 */
export const TOOLS: Selection = {
  coreutils: [/^usr\/bin\/mkfifo$/],
  iproute2: [/^usr\/bin\/ip$/],
  iptables: [
    /^usr\/sbin\/xtables-(nft|legacy)-multi$/,
    /^usr\/sbin\/ip6?tables-(nft|legacy)(-save|-restore)?$/,
    /^usr\/lib\/[\w-]+\/xtables\/[^/]+\.so$/,
  ],
  nftables: [/^usr\/sbin\/nft$/],
  libbpf1: [LIBRARIES],
  libbsd0: [LIBRARIES],
  libcap2: [LIBRARIES],
  libedit2: [LIBRARIES],
  libelf1: [LIBRARIES],
  libgmp10: [LIBRARIES],
  libip4tc2: [LIBRARIES],
  libip6tc2: [LIBRARIES],
  libjansson4: [LIBRARIES],
  libmd0: [LIBRARIES],
  libmnl0: [LIBRARIES],
  "libnetfilter-conntrack3": [LIBRARIES],
  libnfnetlink0: [LIBRARIES],
  libnftables1: [LIBRARIES],
  libnftnl11: [LIBRARIES],
  "libpcre2-8-0": [LIBRARIES],
  libselinux1: [LIBRARIES],
  libtinfo6: [LIBRARIES],
  libxtables12: [LIBRARIES],
  zlib1g: [LIBRARIES],
};

/** The names that Debian's alternatives give to one of two implementations: `iptables` is `iptables-nft`. */
const ALTERNATIVES = ["", "-save", "-restore"].flatMap((suffix) =>
  ["iptables", "ip6tables"].map((family) => [`${family}${suffix}`, `${family}-nft${suffix}`] as const),
);

export async function toolsLayer(architecture: Architecture, lock: Lock) {
  const packages = await debianPackages(Object.keys(TOOLS), architecture, lock);
  const tree: Tree = new Map();
  await addDebianFiles(tree, packages, TOOLS);
  for (const [name, target] of ALTERNATIVES) addLink(tree, `usr/sbin/${name}`, target);
  return { name: "tools", tree, packages };
}
