import { resource, type Resource } from "@istiod/resources";

const field = (number: number, text: string | Uint8Array): Buffer => {
  const value = Buffer.from(text);
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...varint(value.length)]), value]);
};

function varint(n: number): number[] {
  return n < 0x80 ? [n] : [(n & 0x7f) | 0x80, ...varint(n >>> 7)];
}

/** A resource that is told apart by its name, in field 1 as in every type of Envoy's, and by a text that stands for its content. */
export function made(name: string, content = ""): Resource {
  return resource(name, Buffer.concat([field(1, name), field(15, content)]));
}

/** A cluster whose endpoints have another name than the cluster. */
export function cluster(name: string, content: string, serviceName: string): Resource {
  return resource(name, Buffer.concat([field(1, name), field(3, field(2, serviceName)), field(15, content)]));
}

/** A cluster that is to be given endpoints of its own name. */
export function edsCluster(name: string, content = ""): Resource {
  return resource(name, Buffer.concat([field(1, name), Buffer.from([2 << 3, 3]), field(15, content)]));
}
