import type { View } from "../api.js";
import { IncrementalError } from "../errors.js";
import { answer } from "../evaluation/answer.js";
import { unlinkAll } from "../evaluation/edges.js";
import type { Engine } from "../evaluation/engine.js";
import { fetch } from "../evaluation/fetch.js";
import type { AnyQuery, Call } from "../records/call.js";
import { Root, type Client } from "../records/client.js";
import { valid, type Memo } from "../records/memo.js";
import type { Question } from "../records/question.js";
import { collectBeyond, dropResult, dropRoot, type RetentionLimits } from "../retention/collect.js";
import { explain } from "./explain.js";
import type { Explanation } from "./explanation.js";

/** A view of the database for one client. */
export class ClientView<C> implements View<C> {
  readonly #engine: Engine;
  readonly #limits: RetentionLimits;
  readonly #record: Client;
  #released = false;

  constructor(
    engine: Engine,
    limits: RetentionLimits,
    readonly client: C,
  ) {
    this.#engine = engine;
    this.#limits = limits;
    this.#record = engine.clients.add(this as View<unknown>, client);
  }

  /** The records of the client. */
  get record(): Client {
    return this.#record;
  }

  call(query: AnyQuery, arg?: unknown): never {
    return resultOf(this.#root(query, arg).memo);
  }

  follow(query: AnyQuery, arg?: unknown): never {
    const root = this.#root(query, arg);
    if (!root.followed) {
      this.#engine.clients.follow(root);
      this.#engine.unused.roots.remove(root);
    }
    return resultOf(root.memo);
  }

  unfollow(query: AnyQuery, arg?: unknown): void {
    this.#requireOutside("unfollow");
    const { clients, revision, store, unused } = this.#engine;
    const call = store.call(query, arg);
    call.dropIfEmpty();
    const root = this.#record.roots.get(call);
    if (root?.followed !== true) return;
    clients.unfollow(root);
    unused.roots.use(root, revision);
  }

  drop(query: AnyQuery, arg?: unknown): void {
    this.#requireOutside("drop");
    const engine = this.#engine;
    const call = engine.store.call(query, arg);
    call.dropIfEmpty();
    const root = this.#record.roots.get(call);
    if (root === undefined) return;
    dropResult(engine, root);
  }

  explain(query: AnyQuery, arg?: unknown): Explanation {
    return explain(this.#engine, this.#record, this.#root(query, arg).memo);
  }

  release(): void {
    if (this.#released) return;
    this.#requireOutside("release");
    const engine = this.#engine;
    this.#released = true;
    engine.clients.delete(this.#record);
    for (const root of [...this.#record.roots.values()]) {
      dropRoot(engine, root);
      engine.unused.addMemo(root.memo, engine.revision);
    }
    for (const memo of this.#record.answerMemos.values()) unlinkAll(engine, memo);
    this.#record.answerMemos.clear();
    collectBeyond(engine, this.#limits);
  }

  /** Returns the memo of a call without keeping it for the client. */
  memo(query: AnyQuery, arg: unknown): Memo {
    if (this.#released) throw releasedError(query);
    const engine = this.#engine;
    const memo = this.#fetch(engine.store.call(query, arg));
    engine.unused.addMemo(memo, engine.revision);
    return memo;
  }

  /** Returns the client's answer to a question; a `ThrownAnswer` if the fact throws. */
  answer(question: Question): unknown {
    const { active, store } = this.#engine;
    this.#record.reserve(store.questions.byId.length);
    active.client = this.#record;
    try {
      return question.answer(answer(this.#engine, this.#record, question));
    } finally {
      active.client = null;
    }
  }

  #root(query: AnyQuery, arg: unknown): Root {
    const engine = this.#engine;
    if (this.#released) throw releasedError(query);
    if (engine.active.client !== null || engine.writing) this.#requireOutside(query.name);
    const client = this.#record;
    const call = engine.store.call(query, arg);
    let root = client.roots.get(call);
    if (root === undefined) {
      client.roots.set(call, (root = new Root(client, call, this.#fetch(call))));
      root.state = client.state;
    } else if (root.state === client.state && root.memo.validity === valid) engine.counters.hits++;
    else {
      const memo = this.#fetch(call);
      root.state = client.state;
      if (memo !== root.memo) engine.unused.addMemo(root.exchange(memo), engine.revision);
    }
    if (!root.followed) engine.unused.roots.use(root, engine.revision);
    return root;
  }

  #fetch(call: Call): Memo {
    const engine = this.#engine;
    this.#record.reserve(engine.store.questions.byId.length);
    engine.active.client = this.#record;
    let complete = false;
    try {
      const memo = fetch(engine, call);
      complete = true;
      return memo;
    } finally {
      engine.active.client = null;
      if (!complete) engine.reset();
    }
  }

  /** Throws if a query runs or writes are being collected. */
  #requireOutside(action: string): void {
    const { active, writing } = this.#engine;
    if (active.client !== null) {
      const inside = active.running?.owner?.label ?? "a query";
      throw new IncrementalError("purity", `${action}: called on a view from inside ${inside}; use its context`);
    }
    if (writing) throw new IncrementalError("purity", `${action}: called on a view from inside a commit`);
  }
}

function releasedError({ name }: AnyQuery): IncrementalError {
  return new IncrementalError("released", `${name}: the view was released`);
}

function resultOf(memo: Memo): never {
  if (memo.failed) throw memo.value;
  return memo.value as never;
}
