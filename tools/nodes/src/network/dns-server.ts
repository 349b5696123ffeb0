import { createSocket } from "node:dgram";
import { resolve4 } from "node:dns/promises";
import { once } from "node:events";
import { isIPv4 } from "node:net";
import { type Answer as DnsRecord, decode, encode, type Packet } from "dns-packet";
import type { ClusterState } from "../kube/cluster-state.js";
import { slicesByService } from "./service-proxy.js";
import { lookUp } from "./service-names.js";

const TTL = 5;
const AUTHORITATIVE = 1 << 10;
const RECURSION_AVAILABLE = 1 << 7;
const NOT_FOUND = 3;

/** Answers pods' queries for names of the cluster over UDP, and others by this machine's resolver. IPv4 only. */
export async function startDnsServer(cluster: ClusterState, address: string): Promise<() => void> {
  const socket = createSocket("udp4");
  socket.on("message", (message, { address: client, port }) => {
    void respond(cluster, message)
      .then((response) => response && socket.send(response, port, client))
      .catch(cluster.report);
  });
  socket.bind(53, address);
  await once(socket, "listening");
  return () => void socket.close();
}

async function respond(cluster: ClusterState, message: Buffer): Promise<Buffer | undefined> {
  const query = decode(message);
  const [question] = query.questions ?? [];
  if (query.type !== "query" || !question) return undefined;
  const name = question.name.toLowerCase().replace(/\.$/, "");
  const answers = await resolveName(cluster, name, question.name, question.type);
  const response: Packet = {
    ...(query.id === undefined ? {} : { id: query.id }),
    type: "response",
    flags: AUTHORITATIVE | RECURSION_AVAILABLE | (answers === undefined ? NOT_FOUND : 0),
    questions: [question],
    answers: answers ?? [],
  };
  return encode(response);
}

/** Returns the records of a name; undefined if it does not exist. */
async function resolveName(
  cluster: ClusterState,
  name: string,
  asked: string,
  type: string,
): Promise<DnsRecord[] | undefined> {
  const isOwn = name === "cluster.local" || name.endsWith(".cluster.local");
  if (!isOwn) return await resolveElsewhere(name, asked, type);
  const slices = slicesByService(cluster);
  const found = lookUp(
    name,
    (key) => cluster.services.get(key),
    (key) => slices.get(key) ?? [],
  );
  if (!found) return undefined;
  if ("addresses" in found) return type === "A" ? records(asked, found.addresses) : [];
  const alias: DnsRecord = { type: "CNAME", name: asked, data: found.alias, ttl: TTL };
  return [alias, ...((await resolveName(cluster, found.alias, found.alias, type)) ?? [])];
}

async function resolveElsewhere(name: string, asked: string, type: string): Promise<DnsRecord[] | undefined> {
  if (type !== "A") return [];
  return await resolve4(name).then(
    (addresses) => records(asked, addresses),
    () => undefined,
  );
}

function records(name: string, addresses: readonly string[]): DnsRecord[] {
  return addresses.filter((data) => isIPv4(data)).map((data) => ({ type: "A", name, data, ttl: TTL }));
}
