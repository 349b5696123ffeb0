import { ResourceSet, xdsType } from "@istiod/resources";
import type { ResourceSource, SourceChange } from "../source.js";
import { fakeResource } from "./fake-resources.js";

/** A client of a group source. */
export interface GroupMember {
  readonly group: string;
}

/**
 * A source with resources per group of clients; a client's group is its node ID up to the first hyphen. It names the
 * clients of the groups that a change affects, each once until the server reads its resources again.
 */
export class GroupSource implements ResourceSource<GroupMember> {
  /** The reads so far, as `<group> <message name of the type>`. */
  readonly asked: string[] = [];
  /** Group for which reads throw. */
  failing = "";
  /** Called on each read. */
  onAsk: () => void = () => undefined;
  /** Called before each change. */
  beforeChange: () => void = () => undefined;
  readonly #sets = new Map<string, ResourceSet>();
  /** Types that were read since the client was last named. */
  readonly #known = new Map<GroupMember, Set<string>>();
  #listeners: ((change: SourceChange<GroupMember>) => void)[] = [];
  #revision = 0;

  ready(): boolean {
    return true;
  }

  open({ id }: { readonly id: string }): GroupMember {
    const client = { group: id.split("-")[0] ?? "" };
    this.#known.set(client, new Set());
    return client;
  }

  serves(typeUrl: string): boolean {
    return xdsType(typeUrl) !== undefined;
  }

  resources(client: GroupMember, typeUrl: string): ResourceSet {
    this.asked.push(`${client.group} ${typeUrl.split(".").pop() ?? ""}`);
    this.#known.get(client)?.add(typeUrl);
    this.onAsk();
    if (client.group === this.failing) throw new Error("not now");
    return this.#sets.get(`${client.group} ${typeUrl}`) ?? ResourceSet.empty;
  }

  /** Changes the content of a type's resource `own` for some groups, as one change. Returns the revision. */
  set(typeUrl: string, contents: Readonly<Record<string, string>>): number {
    this.beforeChange();
    for (const [group, content] of Object.entries(contents)) {
      const set = ResourceSet.of([fakeResource("common"), fakeResource("own", content)]);
      this.#sets.set(`${group} ${typeUrl}`, set);
    }
    const clients = new Map<GroupMember, string[]>();
    for (const [client, known] of this.#known) {
      if (client.group in contents && known.delete(typeUrl)) clients.set(client, [typeUrl]);
    }
    const revision = ++this.#revision;
    for (const listener of this.#listeners) listener({ revision, clients });
    return revision;
  }

  watch(listener: (change: SourceChange<GroupMember>) => void): () => void {
    this.#listeners.push(listener);
    return () => (this.#listeners = []);
  }

  close(client: GroupMember): void {
    this.#known.delete(client);
  }
}
