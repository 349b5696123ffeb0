import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import { type VirtualHost, VirtualHostSchema } from "@istiod/envoy-api/envoy/config/route/v3/route_components";
import { NameTableSchema } from "@istiod/istio-api/networking/nds/v1/nds";
import { FieldReader, joinEncoded } from "@istiod/protobuf-wire";
import {
  type FailedPart,
  type Failure,
  hasFailed,
  nameTableType,
  type Resource,
  resource,
  ResourceSet,
  routeType,
} from "@istiod/resources";

const known = new WeakMap<ResourceSet, WeakMap<ResourceSet, ResourceSet>>();

/**
 * Returns a set in which resources and parts that could not be generated are those of a former set. Without failures it
 * is the set itself. What the former set does not have is left out. Clients with the same sets get the same object.
 */
export function withLastGood(typeUrl: string, now: ResourceSet, former: ResourceSet | undefined): ResourceSet {
  if (!now.hasFailures || former === undefined || former === now) return now;
  let byFormer = known.get(now);
  if (byFormer === undefined) known.set(now, (byFormer = new WeakMap()));
  let merged = byFormer.get(former);
  if (merged === undefined) byFormer.set(former, (merged = merge(typeUrl, now, former)));
  return merged;
}

function merge(typeUrl: string, now: ResourceSet, former: ResourceSet): ResourceSet {
  const failures = now.failures();
  const whole = failures.filter(({ part }) => part === undefined);
  const kept = [...former].filter(({ name }) => !now.has(name) && whole.some((failed) => hasFailed(failed, name)));
  const completed = [...now].flatMap((current) => {
    const before = current.failures === undefined ? undefined : former.get(current.name);
    const complete = before && completeResource(typeUrl, current, before);
    return complete === undefined || complete === current ? [] : [complete];
  });
  const others =
    completed.length === 0 ? now : ResourceSet.of(replaced(now, completed), now.failures().filter(isWhole));
  const merged = kept.length === 0 ? others : ResourceSet.union([others, ResourceSet.of(kept.map(withoutFailures))]);
  return merged.equals(former) ? former : merged;
}

const isWhole = ({ part }: Failure): boolean => part === undefined;

/** Failures of a kept resource are reported with the set that it is kept in. */
function withoutFailures({ name, version, bytes }: Resource): Resource {
  return { name, version, bytes };
}

function replaced(set: ResourceSet, by: readonly Resource[]): readonly Resource[] {
  const byName = new Map(by.map((each) => [each.name, each]));
  return [...set].map((each) => byName.get(each.name) ?? each);
}

/** Returns a resource with the parts of a former one that it lacks because they could not be generated. */
export function completeResource(typeUrl: string, now: Resource, former: Resource): Resource {
  const parts = (now.failures ?? []).flatMap(({ part }) => part ?? []);
  if (parts.length === 0) return now;
  const bytes =
    typeUrl === routeType
      ? withVirtualHosts(now.bytes, former.bytes, parts)
      : typeUrl === nameTableType
        ? withNames(now.bytes, former.bytes, parts)
        : now.bytes;
  return bytes === now.bytes ? now : { ...resource(now.name, bytes), ...(now.failures && { failures: now.failures }) };
}

/** An encoded virtual host, as an element of a route configuration. */
interface EncodedHost {
  readonly bytes: Uint8Array;
  readonly name: string;
  readonly domains: readonly string[];
}

/**
 * Returns a route configuration with virtual hosts of a former one. A former host without a domain of its own is left
 * out, and one of several with a domain loses it: Envoy rejects domains that occur twice.
 */
function withVirtualHosts(now: Uint8Array, former: Uint8Array, parts: readonly FailedPart[]): Uint8Array {
  const current = readHosts(now);
  const names = new Set(current.hosts.map(({ name }) => name));
  const restored = readHosts(former).hosts.filter(({ name }) =>
    parts.some((part) => hasFailed(part, name) && (part.replaced === true || !names.has(name))),
  );
  if (restored.length === 0) return now;
  const replacing = new Set(restored.map(({ name }) => name));
  const kept = current.hosts.filter(({ name }) => !replacing.has(name));
  const taken = new Set(kept.flatMap(({ domains }) => domains));
  const added = restored.map((host) => withFreeDomains(host, taken));
  return joinEncoded([current.head, ...kept.map(({ bytes }) => bytes), ...added]);
}

function withFreeDomains({ bytes, domains }: EncodedHost, taken: ReadonlySet<string>): Uint8Array {
  const free = domains.filter((domain) => !taken.has(domain));
  if (free.length === domains.length) return bytes;
  if (free.length === 0) return new Uint8Array(0);
  const [host] = fromBinary(RouteConfigurationSchema, bytes).virtualHosts;
  const limited = create(RouteConfigurationSchema, { virtualHosts: [{ ...(host as VirtualHost), domains: free }] });
  return toBinary(RouteConfigurationSchema, limited);
}

function readHosts(bytes: Uint8Array): { readonly head: Uint8Array; readonly hosts: readonly EncodedHost[] } {
  const { virtualHosts } = RouteConfigurationSchema.field;
  const reader = new FieldReader(bytes);
  const hosts: EncodedHost[] = [];
  const head: Uint8Array[] = [];
  while (reader.next()) {
    const field = bytes.subarray(reader.start, reader.to);
    if (reader.field === virtualHosts.number)
      hosts.push({ bytes: field, ...readHost(bytes.subarray(reader.from, reader.to)) });
    else head.push(field);
  }
  return { head: joinEncoded(head), hosts };
}

function readHost(bytes: Uint8Array): { readonly name: string; readonly domains: readonly string[] } {
  const fields = VirtualHostSchema.field;
  const reader = new FieldReader(bytes);
  let name = "";
  const domains: string[] = [];
  while (reader.next()) {
    if (reader.field !== fields.name.number && reader.field !== fields.domains.number) continue;
    const text = Buffer.from(bytes.subarray(reader.from, reader.to)).toString("utf8");
    if (reader.field === fields.name.number) name = text;
    else domains.push(text);
  }
  return { name, domains };
}

/** Returns a name table with names of a former one. */
function withNames(now: Uint8Array, former: Uint8Array, parts: readonly FailedPart[]): Uint8Array {
  const { table } = fromBinary(NameTableSchema, now);
  const before = Object.entries(fromBinary(NameTableSchema, former).table);
  const added = before.filter(([name]) => table[name] === undefined && parts.some((part) => hasFailed(part, name)));
  if (added.length === 0) return now;
  const all = [...Object.entries(table), ...added].sort(([a], [b]) => (a < b ? -1 : 1));
  return toBinary(NameTableSchema, create(NameTableSchema, { table: Object.fromEntries(all) }));
}
